package layout

import (
	"bytes"
	"strings"
	"testing"

	"mcphub/internal/printable"
)

// A state has its colour on a terminal, whatever is written in it, and the columns stay where they are.
func TestColouredTable(t *testing.T) {
	t.Parallel()
	for _, colour := range []bool{true, false} {
		var b bytes.Buffer
		table := NewTable(printable.Writer(&b))
		table.colour = colour
		table.Head("SERVER", "STATE", "TOOLS")
		table.Row("git", "ready, modern", "3")
		table.Row("db\x1b[31m", "backing off", "0")
		table.Row("x", "\x1b[32mready", "0")
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		green, red, off := "\x1b[32m", "\x1b[31m", "\x1b[0m"
		if !colour {
			green, red, off = "", "", ""
		}
		if want := "SERVER      STATE          TOOLS\n" +
			"git         " + green + "ready, modern" + off + "  3\n" +
			`db\x1b[31m  ` + red + "backing off" + off + "    0\n" +
			`x           \x1b[32mready  0` + "\n"; b.String() != want {
			t.Errorf("colour %t:\n%q, want\n%q", colour, b.String(), want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"read", "files", "Read a whole file as text"}, {"写", "notes", "Write a note, and keep the one before it"}, {"stop", "x"}, {"drop", "y", ""}}
	for room, want := range map[int]string{
		0: "TOOL  SERVER  DESCRIPTION\n" +
			"read  files   Read a whole file as text\n" +
			"写    notes   Write a note, and keep the one before it\n" +
			"stop  x\n" +
			"drop  y\n",
		40: "TOOL  SERVER  DESCRIPTION\n" +
			"read  files   Read a whole file as text\n" +
			"写    notes   Write a note, and keep the\n" +
			"              one before it\n" +
			"stop  x\n" +
			"drop  y\n",
		30: "read\n" +
			"  SERVER       files\n" +
			"  DESCRIPTION  Read a whole\n" +
			"               file as text\n" +
			"写\n" +
			"  SERVER       notes\n" +
			"  DESCRIPTION  Write a note,\n" +
			"               and keep the\n" +
			"               one before it\n" +
			"stop\n" +
			"  SERVER       x\n" +
			"drop\n" +
			"  SERVER       y\n",
	} {
		var b bytes.Buffer
		table := NewTable(&b)
		if table.room != 0 {
			t.Fatalf("a buffer is %d columns wide", table.room)
		}
		table.room = room
		table.Head("TOOL", "SERVER", "DESCRIPTION")
		for _, r := range rows {
			table.Row(r...)
		}
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != want {
			t.Errorf("%d columns:\n%s\nwant:\n%s", room, got, want)
		}
	}
}

// A table without names of columns, and a word that fits nowhere.
func TestTableWithoutHead(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("x", 50)
	var b bytes.Buffer
	table := NewTable(&b)
	table.room = 40
	table.Row("key", "keyring", "see "+long)
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "key\n  keyring\n  see\n  "+long+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
