package main

import (
	"errors"
	"os"
	"testing"

	"mcphub/cmd/mcphub/internal/exit"
)

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// Where a result cannot be written the command was right, and has failed.
func TestAResultThatCannotBeWrittenIsNoWrongUsage(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE", "AppData", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, home)
	}
	t.Setenv("MCPHUB_CONFIG", "")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, args := range [][]string{
		{"version", "--json"},
		{"roots", "--json", "--root", home},
		{"roots", "--json", "--root", home, "--why", home},
		{"roots", "--json", "--root", home, "--why", ""},
		{"auth", "status", "--json"},
		{"auth", "list", "--json"},
		{"install", "--print", "--json", "claude-desktop"},
		{"list", "--json"},
	} {
		root := rootCommand()
		root.SetArgs(args)
		root.SetIn(null)
		root.SetOut(fullDisk{})
		if err := root.ExecuteContext(t.Context()); exit.Status(err) != exit.Failure {
			t.Errorf("%v: status %d, want %d: %v", args, exit.Status(err), exit.Failure, err)
		}
	}
}
