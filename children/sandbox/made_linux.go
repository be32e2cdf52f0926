package sandbox

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// This file keeps what brokers have made. The file has a line for each thing that was made, and one more
// if it was removed or has another name since. A line is added by one write, and none is changed, so that hubs do
// not lose each other's lines. Each hub holds a lock of the file that hubs share. A hub that has the lock for itself leaves
// out what is not there any more.

// A madeLine is a line of the file.
type madeLine struct {
	Path   string `json:"path,omitempty"` // ""; it is gone
	Device uint64 `json:"dev"`
	Number uint64 `json:"ino"`
	Born   int64  `json:"born"`
}

const (
	maxMade     = 1 << 16  // how many files are known; beyond that nothing is made
	maxMadeFile = 16 << 20 // bytes; beyond that nothing is kept
	minMadeFile = 64 << 10 // bytes; up to that the file is as it is
)

// isForeign reports whether something has a name in the folder that the program of the file has not made.
func (f *File) isForeign(name string) bool {
	what, err := sightOf(unix.AT_FDCWD, filepath.Join(f.Folder, name))
	return err == nil && (f.Made == nil || !f.Made.hasFile(what.identity))
}

func (m *Made) hasFile(id identity) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.paths[id]
	if !known { // another hub may have made it
		m.look()
		_, known = m.paths[id]
	}
	return known
}

// isFull reports whether no more can be remembered. folder is the one in which something is to be made.
func (m *Made) isFull(folder string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.paths) >= maxMade {
		m.sweep(folder)
	}
	return len(m.paths) >= maxMade
}

// addFile remembers what was made, or has another path now.
func (m *Made) addFile(id identity, path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(id, path)
	m.keep(id, path, filepath.Dir(path))
}

// removeFile remembers that something is gone.
func (m *Made) removeFile(id identity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look() // another hub may have made it
	if path, known := m.paths[id]; known {
		delete(m.paths, id)
		m.keep(id, "", filepath.Dir(path))
	}
}

// The mutex is held by those who call what follows.

func (m *Made) note(id identity, path string) {
	if m.paths == nil {
		m.paths = map[identity]string{}
	}
	m.paths[id] = path
}

// sweep forgets what is not at its path in a folder any more. It looks at no other folder: another one may lie on a file system that hangs.
func (m *Made) sweep(folder string) {
	for id, path := range m.paths {
		if filepath.Dir(path) != folder {
			continue
		}
		if what, err := sightOf(unix.AT_FDCWD, path); err != nil || what.identity != id {
			delete(m.paths, id)
		}
	}
}

// keep adds a line. Without a time of birth another file could pass for this one, so such a file is not kept.
// folder is the one that is worked in.
func (m *Made) keep(id identity, path, folder string) {
	if id.born == 0 || !m.open() {
		return
	}
	line := lineOf(id, path)
	size := m.size()
	if size > m.limit && m.shorten(folder) {
		size = m.size()
	}
	if size > maxMadeFile {
		return
	}
	if n, err := m.kept.Write(line); err == nil && m.read == size && m.size() == size+int64(n) {
		m.read += int64(n) // no other hub has added any
	}
}

// lineOf begins a new line: a hub that was killed may not have ended its own.
func lineOf(id identity, path string) []byte {
	text, _ := json.Marshal(madeLine{path, id.device, id.number, id.born}) // of strings and numbers
	return append(append([]byte{'\n'}, text...), '\n')
}

func (m *Made) size() int64 {
	fi, err := m.kept.Stat()
	if err != nil {
		return maxMadeFile + 1
	}
	return fi.Size()
}

// open opens the file, unless it is open. A file that another hub puts in order now is opened the next time.
func (m *Made) open() bool {
	if m.kept != nil || m.File == nil {
		return m.kept != nil
	}
	path, err := m.File()
	if err != nil {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		_ = f.Close()
		return false
	}
	m.kept, m.limit = f, minMadeFile
	m.look()
	return true
}

// look reads what was added to the file.
func (m *Made) look() {
	if !m.open() {
		return
	}
	size := m.size()
	if size <= m.read || size > 2*maxMadeFile {
		return
	}
	text := make([]byte, size-m.read)
	n, _ := m.kept.ReadAt(text, m.read) // what is missing is read the next time
	text = text[:bytes.LastIndexByte(text[:n], '\n')+1]
	m.read += int64(len(text))
	for line := range bytes.Lines(text) {
		var l madeLine
		if json.Unmarshal(line, &l) != nil {
			continue // one that is empty, or that a killed hub has not written whole
		}
		id := identity{inode{l.Device, l.Number}, l.Born}
		if l.Path == "" {
			delete(m.paths, id)
		} else {
			m.note(id, l.Path)
		}
	}
}

// shorten leaves out of the file what is not in a folder any more, if no other hub has the file open. A hub that
// is killed meanwhile forgets what it has made.
func (m *Made) shorten(folder string) bool {
	m.limit = 2 * max(m.size(), minMadeFile)
	fd := int(m.kept.Fd())
	alone := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
	if alone {
		m.look()
		m.sweep(folder)
		var text []byte
		for id, path := range m.paths {
			if id.born != 0 {
				text = append(text, lineOf(id, path)...)
			}
		}
		if m.kept.Truncate(0) == nil {
			_, _ = m.kept.Write(text)
			m.read = m.size()
			m.limit = 2 * max(m.read, minMadeFile)
		}
	}
	if unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) != nil { // another hub puts it in order
		_ = m.kept.Close()
		m.kept, m.read = nil, 0
		return false
	}
	return alone
}
