package proctree

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A Process is one line of the process table. PID and Start together name it.
type Process struct {
	PID    int
	Parent int
	Group  int
	TTY    int    // of its controlling terminal, 0: it has none
	Front  int    // the group in the foreground of that terminal
	State  byte   // as in proc_pid_stat(5): Z is ended and not yet waited for
	Start  uint64 // clock ticks from the start of the machine to the process's
	Hub    string // the name that a hub or its guardian has given itself, see [Rename]; "" of others
}

// Rename gives this process a name.
func Rename(name string) error {
	return os.WriteFile("/proc/self/comm", []byte(name), 0) // it is there, so nothing is created
}

// A Table is one look at all processes. It is not a moment's: the ones
// that started or ended meanwhile may be in it or not.
type Table struct {
	all      map[int]Process
	children map[int][]int
}

// Read reads the process table.
func Read() (*Table, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return nil, err
	}
	t := &Table{all: make(map[int]Process, len(names)), children: make(map[int][]int, len(names)/2)}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := Find(pid); err == nil {
			t.all[pid] = p
			t.children[p.Parent] = append(t.children[p.Parent], pid)
		}
	}
	if len(t.all) == 0 {
		return nil, errors.New("/proc shows no process")
	}
	return t, nil
}

var errStat = errors.New("/proc/PID/stat is not as proc_pid_stat(5) has it")

// Find reads the line of one process.
func Find(pid int) (Process, error) {
	var path [32]byte
	name := append(strconv.AppendInt(append(path[:0], "/proc/"...), int64(pid), 10), "/stat"...)
	fd, err := unix.Open(string(name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Process{}, err
	}
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	_ = unix.Close(fd)
	if err != nil {
		return Process{}, err
	}
	return parseStat(pid, buf[:max(0, n)])
}

// parseStat reads "pid (name) state ppid pgrp ... starttime ...", where starttime
// is the 22nd field. The name may hold anything, so that fields are counted
// from its end.
func parseStat(pid int, line []byte) (Process, error) {
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return Process{}, errStat
	}
	fields := bytes.Fields(line[end+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return Process{}, errStat
	}
	bad := false
	number := func(field int) int64 {
		n, err := strconv.ParseInt(string(fields[field]), 10, 64)
		bad = bad || err != nil
		return n
	}
	p := Process{PID: pid, Parent: int(number(1)), Group: int(number(2)), TTY: int(number(4)), State: fields[0][0], Start: uint64(number(19))}
	if bad {
		return Process{}, errStat
	}
	if p.TTY != 0 {
		p.Front, _ = strconv.Atoi(string(fields[5]))
	}
	if _, name, _ := bytes.Cut(line[:end], []byte{'('}); bytes.HasPrefix(name, []byte(namesBegin)) {
		p.Hub = string(name)
	}
	return p, nil
}

// Process returns the process with this id.
func (t *Table) Process(pid int) (Process, bool) {
	p, ok := t.all[pid]
	return p, ok
}

// Has reports whether this very process is in the table.
func (t *Table) Has(p Process) bool { return t.all[p.PID].Start == p.Start }

// Children returns the children of a process.
func (t *Table) Children(pid int) []Process {
	out := make([]Process, 0, len(t.children[pid]))
	for _, c := range t.children[pid] {
		out = append(out, t.all[c])
	}
	return out
}

// Descendants returns all who descend from a process, without itself.
func (t *Table) Descendants(pid int) []Process {
	var out []Process
	seen := map[int]bool{pid: true} // an id that was given again meanwhile could close a circle
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, c := range t.children[queue[0]] {
			if !seen[c] {
				seen[c] = true
				out = append(out, t.all[c])
				queue = append(queue, c)
			}
		}
	}
	return out
}

// Held reports whether the process has given up new privileges, and more filters look at
// its system calls than at ours: a container may have one for all. No process loses
// either, and whom it starts has both.
func (p Process) Held() bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/status")
	ours, err2 := os.ReadFile("/proc/thread-self/status")
	return err == nil && err2 == nil && bytes.Contains(raw, []byte("\nNoNewPrivs:\t1\n")) && countFilters(raw) > countFilters(ours)
}

// HasMoreFilters compares how many filters look at the system calls of a process, by its status
// (proc_pid_status(5)), with how many look at the ones of another. more is also true if that
// cannot be told.
func HasMoreFilters(status, than []byte) (more bool) {
	of, ok1 := readField(status, "Seccomp_filters")
	other, ok2 := readField(than, "Seccomp_filters")
	if ok1 && ok2 {
		return of > other
	}
	mode, ok1 := readField(status, "Seccomp") // before Linux 5.9
	_, ok2 = readField(than, "Seccomp")
	return ok1 != ok2 || mode != 0 // of two that have some, no one knows how many
}

func readField(status []byte, name string) (n int, ok bool) {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name+":\t"))
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.Atoi(string(text))
	return n, err == nil
}

// countFilters returns how many filters a process or a thread has, by its status.
func countFilters(status []byte) int {
	n, _ := readField(status, "Seccomp_filters")
	return n
}

// Variable returns the value of a variable in the environment that the process
// started with. Nothing is found if it took the environment away from there, or
// may not be looked into.
func (p Process) Variable(name string) string {
	value, _ := p.Lookup(name)
	return value
}

// Lookup works like Variable, with an error if the process may not be looked into.
func (p Process) Lookup(name string) (string, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/environ")
	if err != nil {
		return "", err
	}
	for kv := range bytes.SplitSeq(raw, []byte{0}) {
		if key, value, ok := bytes.Cut(kv, []byte{'='}); ok && string(key) == name {
			return string(value), nil
		}
	}
	return "", nil
}
