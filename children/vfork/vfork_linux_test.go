//go:build amd64 || arm64

package vfork_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mcphub/children/vfork"
)

const childVariable = "VFORK_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	out, err := exec.Command("/bin/sh", "-c", "ulimit -Sn; ulimit -Hn").Output()
	fmt.Println(vfork.Files.Soft, vfork.Files.Hard, strings.Fields(string(out)), err)
}

// Files is what os/exec gives to what it starts, and not what the Go runtime has made of it.
func TestFiles(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, limits := range []string{"-Sn 200", "-n 300"} {
		cmd := exec.Command("/bin/sh", "-c", "ulimit "+limits+" && exec "+exe)
		cmd.Env = append(os.Environ(), childVariable+"=1")
		out, err := cmd.CombinedOutput()
		var soft, hard, softOf, hardOf int
		if n, _ := fmt.Sscanf(strings.NewReplacer("[", "", "]", "").Replace(string(out)), "%d %d %d %d", &soft, &hard, &softOf, &hardOf); n != 4 || err != nil {
			t.Fatalf("%s, %v", out, err)
		}
		if soft != softOf || hard != hardOf || !strings.HasSuffix(limits, fmt.Sprint(soft)) {
			t.Errorf("%s: %s", limits, out)
		}
	}
}
