package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// habits are the switches of one recorder: each makes it misbehave in one way.
type habits struct {
	slowStart   time.Duration // waits this long before it reads its first line
	dieAtStart  bool          // writes a reason on stderr and exits 1 at once
	ignoreTerm  bool          // neither SIGTERM nor the end of stdin ends it
	linger      bool          // the end of stdin does not end it
	grandchild  bool          // starts a process of its own that never ends by itself
	rogue       bool          // starts a family that does all it can to stay: see rogue_unix.go
	hopper      bool          // starts a process that starts another like itself and ends, and so on for ever
	role        string        // is a member of that family
	stderrFlood int           // bytes of noise on stderr at start
	pages       int           // tools/list comes in so many pages
	badSchema   bool          // offers tools whose schema must not be used
	nullable    bool          // offers a tool whose schema allows null: most clients refuse the whole list
	hostile     string        // bytes in hexadecimal that stand in all that it says about itself, and on stderr
	offers      bool          // offers prompts, resources and completion, too
	tasks       bool          // makes a task of a call that asks for one
	hold        bool          // is the grandchild: does nothing, for ever
	relay       string        // lends its streams to a server of the test's: see relay.go
}

func main() {
	var h habits
	flag.DurationVar(&h.slowStart, "slow-start", 0, "wait before reading the first line")
	flag.BoolVar(&h.dieAtStart, "die-at-start", false, "exit 1 at once with a reason on stderr")
	flag.BoolVar(&h.ignoreTerm, "ignore-term", false, "survive SIGTERM and the end of stdin")
	flag.BoolVar(&h.linger, "linger", false, "survive the end of stdin")
	flag.BoolVar(&h.grandchild, "grandchild", false, "start a process that never ends by itself")
	flag.BoolVar(&h.rogue, "rogue", false, "start a family of processes that never end by themselves, outside of the group, deaf to SIGTERM")
	flag.BoolVar(&h.hopper, "hopper", false, "start a process that starts another like itself and ends, and so on for ever")
	flag.StringVar(&h.role, "role", "", "be a member of that family")
	flag.IntVar(&h.stderrFlood, "stderr-flood", 0, "write so many bytes to stderr at start")
	flag.IntVar(&h.pages, "pages", 1, "answer tools/list in so many pages")
	flag.BoolVar(&h.badSchema, "bad-schema", false, "offer tools whose schema must not be used")
	flag.BoolVar(&h.nullable, "nullable", false, "offer a tool whose schema allows null")
	flag.StringVar(&h.hostile, "hostile", "", "put these bytes, in hexadecimal, into all that it says of itself, on stderr, and into errors")
	flag.BoolVar(&h.offers, "offers", false, "offer prompts, resources and completion, too")
	flag.BoolVar(&h.tasks, "tasks", false, "make a task of a call that asks for one")
	flag.BoolVar(&h.hold, "hold", false, "do nothing, for ever")
	flag.StringVar(&h.relay, "relay", "", "lend stdin and stdout to the server at HOST:PORT/NAME")
	if wrap := os.Getenv("RECORDER_WRAP"); wrap != "" {
		os.Exit(runWrapped(wrap, os.Args[1:]))
	}
	flag.Parse()
	os.Exit(run(h))
}

func run(h habits) int {
	if h.ignoreTerm {
		signal.Ignore(syscall.SIGTERM)
	}
	if h.hold {
		forever()
	}
	if h.role != "" {
		return playRole(h.role)
	}
	if h.relay != "" {
		return relay(h.relay)
	}
	if err := noteStart(); err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		return 2
	}
	if h.dieAtStart {
		fmt.Fprintln(os.Stderr, "recorder: \x1b[31mdead at start\x1b[0m as told")
		return 1
	}
	if h.grandchild {
		if err := startGrandchild(h); err != nil {
			fmt.Fprintln(os.Stderr, "recorder:", err)
			return 2
		}
	}
	if h.rogue {
		if err := startFamily(); err != nil {
			fmt.Fprintln(os.Stderr, "recorder:", err)
			return 2
		}
	}
	if h.hopper {
		if err := startMember("hopper", true, false); err != nil {
			fmt.Fprintln(os.Stderr, "recorder:", err)
			return 2
		}
	}
	flood(os.Stderr, h.stderrFlood)
	time.Sleep(h.slowStart)

	s := newServer(h, os.Stdout)
	if err := eachLine(os.Stdin, s.line); err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
	}
	if h.linger || h.ignoreTerm {
		forever()
	}
	return 0
}

// forever waits for a signal that kills. An empty select would be taken for a deadlock: nothing else may be left running.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// eachLine records every line of r and hands it to take, until r ends. A last line without an end counts too.
func eachLine(r io.Reader, take func([]byte)) error {
	record, err := openRecord()
	if err != nil {
		return err
	}
	defer record.Close()
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			// One write per line: instances that share a file must not cut into each other's lines.
			if _, err := record.Write([]byte(strings.TrimRight(string(line), "\n") + "\n")); err != nil {
				return err
			}
			take(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func openRecord() (*os.File, error) {
	name := os.Getenv("RECORDER_FILE")
	if name == "" {
		name = os.DevNull
	}
	return os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// start is what RECORDER_STATE gets, one line per start.
type start struct {
	PID        int      `json:"pid"`
	Args       []string `json:"args"`
	Cwd        string   `json:"cwd"`
	Env        []string `json:"env"`
	Grandchild int      `json:"grandchild,omitempty"`
}

func thisStart() start {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "unknown: " + err.Error()
	}
	return start{PID: os.Getpid(), Args: os.Args[1:], Cwd: cwd, Env: os.Environ()}
}

func noteStart() error { return appendState(thisStart()) }

func appendState(s start) error {
	name := os.Getenv("RECORDER_STATE")
	if name == "" {
		return nil
	}
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func flood(w io.Writer, n int) {
	const line = "recorder: noise noise noise noise noise noise noise noise noise\n"
	for ; n > 0; n -= len(line) {
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
	}
}
