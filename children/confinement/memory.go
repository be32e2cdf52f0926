package confinement

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"mcphub/children/consent"
	"mcphub/children/sandbox"
	"mcphub/internal/atomicfile"
	"mcphub/rootsmgr/guard"
)

// A Change is a question for a person: what a name opens to servers is not what it was.
type Change struct {
	Path     string   // what names it: a path, a program that is found by its name, or the first line of a script
	Was, Now []string // what it opened, and what it would open
}

// String says it in one line.
func (change Change) String() string {
	return fmt.Sprintf("%s led to %s and leads to %s now", consent.Shown(change.Path), leadsTo(change.Was), leadsTo(change.Now))
}

// consentItem returns the Change as it is put to a person.
func (change Change) consentItem() consent.Item {
	value, _ := json.Marshal(change.Now) // of strings
	return consent.Item{
		ID:    "name " + change.Path,
		Title: change.String(),
		Lines: []string{
			"It opened to servers: " + leadsTo(change.Was),
			"It would open:        " + leadsTo(change.Now),
			"Servers that run are given it when they start again: mcphub restart NAME",
		},
		Value: value,
	}
}

func leadsTo(places []string) string {
	if len(places) == 0 {
		return "nothing of the user's"
	}
	list := make([]string, len(places))
	for i, p := range places {
		list[i] = trimMark(p)
	}
	return consent.Shown(list...)
}

// memory knows where names have led. All hubs of a user share one file: a line for each
// name, and one more for each answer of a person. A line is added by one write and none is
// ever changed, so that hubs do not lose each other's. A file that is full is replaced by one without the
// names that are gone, while no hub adds a line (sweep). Its methods may be called by any goroutine; one mutex guards all of it.
type memory struct {
	consent *consent.Store // if a person is asked, and in whose folder the file lies; without one it lasts as long as the process
	dry     bool           // nothing is written, and no one is asked
	wait    time.Duration  // for another hub that writes the file

	mu     sync.Mutex
	read   fileState // of file, when it was read last
	led    map[string][]string
	sizes  map[string]int64 // bytes of the lines of each owner
	asked  map[string]bool  // names of which it is known whether a question of this hub waits
	waits  consent.Asked    // the questions that waited at listed
	listed time.Time
	swept  time.Time // when it was last looked for names that are gone

	holders int       // while there is one, held stays open once a line was added
	held    *heldFile // nil: each line opens the file
}

// A heldFile is the file, open to add lines, with its lock.
type heldFile struct {
	*os.File
	unlock func()
}

type fileState struct {
	size int64
	time time.Time
}

func stateOf(fi fs.FileInfo) fileState { return fileState{fi.Size(), fi.ModTime()} }

// A memoryLine is one of the file. The first of a path counts, and after it each that a
// person has answered.
type memoryLine struct {
	Path     string   `json:"path"`
	Owner    string   `json:"of,omitempty"` // the entry for which the name was first used
	Leads    []string `json:"leads"`
	Accepted bool     `json:"accepted,omitempty"`
	found
}

// found is the place of a name that no entry has. The zero found is for a name that an entry has.
type found struct {
	By   []string `json:"by,omitempty"`   // the links and files
	Says string   `json:"says,omitempty"` // what a file of them holds; "": that one of them is there is enough
}

// isGone reports whether nothing leads by a name any more that was found on the disk. Such a name may be forgotten: the next
// time it is a new one, and the record of what servers could write is asked about it.
func (f found) isGone() bool {
	return len(f.By) > 0 && !slices.ContainsFunc(f.By, func(path string) bool {
		if _, err := os.Lstat(path); err != nil {
			return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) // what cannot be looked at may be there
		}
		return f.Says == "" || strings.Contains(textOf(path), f.Says)
	})
}

// memoryName is the name of the file.
const memoryName = "links"

// maxMemory bounds the file, in bytes, and maxOwned what is in it for one entry. Beyond that nothing
// new is remembered, and so nothing new is opened: a server that makes ever more names beside a program
// closes new names of the entry of this program alone.
const (
	maxMemory = 4 << 20
	maxOwned  = 256 << 10
)

func newMemory(state string) *memory {
	return emptyMemory(consent.New(state))
}

// emptyMemory has read nothing yet.
func emptyMemory(s *consent.Store) *memory {
	m := &memory{consent: s, wait: lockWait, asked: map[string]bool{}}
	m.clearTo(fileState{})
	return m
}

// clearTo forgets what was read of the file, which is about to be read in this state.
func (m *memory) clearTo(now fileState) {
	m.read, m.led, m.sizes = now, map[string][]string{}, map[string]int64{}
}

// closedFolder returns what no server is to open, whatever it is served; "" if there is none.
func (h Host) closedFolder() string {
	if h.memory == nil || h.memory.consent.Closed() == "" {
		return ""
	}
	if real, err := h.looks.Real(h.memory.consent.Closed()); err == nil {
		return real
	}
	return sandbox.RealPath(h.memory.consent.Closed())
}

// previewCopy returns the memory as it is now. What is remembered in it is lost.
func (m *memory) previewCopy() *memory {
	if m == nil {
		return nil
	}
	p := emptyMemory(m.consent)
	p.dry = true
	return p
}

var (
	errOwnFull = errors.New("its entry has named more than the hub remembers of one entry: 256 KiB of paths; remove the links that servers have made beside its program, and what is gone is forgotten")
	errFull    = errors.New("it is full; remove it while no hub runs, and what names lead to is remembered again")
)

// settledPlaces reports whether a name may open what it leads to: that is what it opened when it
// was first used, or what a person has accepted since, or a part of that. Else a person is
// asked, if ask is set. An error is one of the files: it cannot be known, and nothing opens.
func (m *memory) settledPlaces(name memoryLine, ask bool) (was []string, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path, now := name.Path, name.Leads
	was, known := m.led[path]
	if !known || !coversAll(was, now) { // another hub may know more
		if err := m.readIfChanged(); err != nil {
			return nil, false, err
		}
		was, known = m.led[path]
	}
	switch {
	case !known:
		err = m.addLine(name)
		return now, err == nil, err
	case coversAll(was, now):
		return was, true, m.withdrawQuestion(path)
	case !ask:
		return was, false, nil
	}
	question := Change{path, was, now}.consentItem()
	value, known, err := m.consent.Accepted(question.ID)
	var accepted []string
	if err == nil && known {
		err = json.Unmarshal(value, &accepted)
	}
	switch {
	case err != nil:
		return was, false, err
	case known && coversAll(accepted, now):
		name.Leads, name.Accepted = accepted, true
		if err = m.addLine(name); err == nil {
			err = m.withdrawQuestion(path)
		}
		return accepted, err == nil, err
	}
	if m.dry {
		return was, false, nil
	}
	m.asked[path] = true
	return was, false, m.consent.Ask(question)
}

// whyNotLed returns why a part does not open places that something on the disk leads to, when its name is first used; "" if it
// does. What a server of any hub could have written leads nowhere else, unless a person has accepted it. inside: it leads nowhere
// else, and the name need not be remembered. looks are what the plan has seen on the way to what leads there.
func (m *memory) whyNotLed(p part, looks *sandbox.LstatCache, places []string) (why string, inside bool) {
	if m == nil || len(p.by) == 0 || len(places) == 0 || m.knowsName(p.name) {
		return "", false
	}
	lead := consent.Lead{Name: p.name, By: p.by, Dry: m.dry}
	for _, by := range p.by {
		lead.Seen = append(lead.Seen, looks.Hops(by)...)
	}
	for _, place := range places {
		lead.To = append(lead.To, trimMark(place))
	}
	why, inside = m.consent.WhyNotLed(lead)
	if why != "" {
		why = "nothing is opened by a name: " + why
	}
	return why, inside
}

// whyLinked returns why a path that was seen to lead to real is not followed when it is first used, because a server of any hub could have
// made a link on the way, or because the path leads elsewhere by now; "" if it is followed.
func (m *memory) whyLinked(path, real string) string {
	if m == nil || m.knowsName(path) {
		return ""
	}
	disk := guard.NewDisk(guard.OS{})
	found, err := disk.Canonical(path)
	switch {
	case err != nil && !errors.Is(err, guard.ErrMissing):
		return fmt.Sprintf("%s is not opened: %v", path, err)
	case found.Path != real && !(runtime.GOOS != "linux" && strings.EqualFold(found.Path, real)): // other systems may spell a name in two ways
		return path + " is not opened: it leads elsewhere by now"
	}
	if why := m.consent.WhyLinksClosed(found.Links, m.dry); why != "" {
		return path + " is not opened: " + why
	}
	return ""
}

// withdrawQuestion takes the question about a name back, which this hub or a former one may have
// asked. The mutex is held.
func (m *memory) withdrawQuestion(path string) error {
	waits, known := m.asked[path]
	if m.dry || known && !waits {
		return nil
	}
	m.asked[path] = false
	id := Change{Path: path}.consentItem().ID
	if !known && !m.mayWait(id) {
		return nil
	}
	return m.consent.Withdraw(id)
}

// listAge is how old a list of the questions that wait may be.
const listAge = time.Second

// mayWait reports whether another hub may have asked a question that still waits. The mutex is held.
func (m *memory) mayWait(id string) bool {
	if time.Since(m.listed) > listAge {
		waits, err := m.consent.Asked()
		if err != nil {
			return true
		}
		m.waits, m.listed = waits, time.Now()
	}
	return m.waits.Has(id)
}

// HoldNames keeps the file of names open from the first name that is added until release is called, for who adds many. Other hubs may
// add names meanwhile; they do not replace the file.
func (h Host) HoldNames() (release func()) {
	m := h.memory
	if m == nil {
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holders++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.holders--; m.holders == 0 {
			m.closeHeld()
		}
	})
}

// closeHeld closes the file if it is held. The mutex is held.
func (m *memory) closeHeld() {
	if m.held != nil {
		_ = m.held.Close()
		m.held.unlock()
		m.held = nil
	}
}

// openFile opens the file to add a line. closeFile is to be called when it is added. The mutex is held.
func (m *memory) openFile(file string) (f *os.File, closeFile func(), err error) {
	if m.held != nil {
		return m.held.File, func() {}, nil
	}
	unlock, err := lockFile(file, false, m.wait)
	if err != nil {
		return nil, nil, err
	}
	if f, err = os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, consent.FileMode); err != nil {
		unlock()
		return nil, nil, err
	}
	if m.holders > 0 {
		m.held = &heldFile{f, unlock}
		return f, func() {}, nil
	}
	return f, func() {
		_ = f.Close()
		unlock()
	}, nil
}

// knowsName reports whether a name has been used.
func (m *memory) knowsName(path string) bool {
	_, known := m.openedPlaces(path)
	return known
}

// openedPlaces returns the places that a name opens, and reports whether it has been used.
func (m *memory) openedPlaces(path string) (places []string, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	places, known = m.led[path]
	if !known && m.readIfChanged() == nil { // another hub may know more
		places, known = m.led[path]
	}
	return places, known
}

// noteAbsent remembers a name that leads nowhere, and reports whether it was not known.
func (m *memory) noteAbsent(name memoryLine) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.led[name.Path]; known || m.readIfChanged() != nil {
		return false
	}
	if _, known := m.led[name.Path]; known {
		return false
	}
	_ = m.addLine(name) // else it is done again the next time
	return true
}

// lookAtFile returns the path of the file and what it is; nil if it is not there. The mutex is held.
func (m *memory) lookAtFile() (file string, fi fs.FileInfo, err error) {
	if m.held != nil { // no hub replaces it
		fi, err = m.held.Stat()
		return m.held.Name(), fi, err
	}
	dir, err := m.consent.Folder()
	if err != nil {
		return "", nil, err
	}
	file = filepath.Join(dir, memoryName)
	fi, err = os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file, nil, nil
	case err != nil:
		return file, nil, err
	case !fi.Mode().IsRegular():
		return file, nil, fmt.Errorf("%s is no regular file; take it away", file)
	}
	return file, fi, nil
}

// readIfChanged reads the file if it is not what it was. The mutex is held.
func (m *memory) readIfChanged() error {
	if !m.consent.Keeps() {
		return nil
	}
	file, fi, err := m.lookAtFile()
	if err != nil {
		return err
	}
	if fi == nil {
		if m.read != (fileState{}) {
			m.clearTo(fileState{})
		}
		return nil
	}
	now := stateOf(fi)
	if now == m.read {
		return nil
	}
	text, err := atomicfile.Read(file)
	if err != nil {
		return err
	}
	m.clearTo(now)
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Buffer(nil, maxMemory); lines.Scan(); {
		var line memoryLine
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // one that a killed hub has not written whole
		}
		m.takeLine(line)
		m.sizes[line.Owner] += int64(len(lines.Bytes()))
	}
	return lines.Err()
}

func (m *memory) takeLine(line memoryLine) {
	if _, known := m.led[line.Path]; !known || line.Accepted {
		m.led[line.Path] = line.Leads
	}
}

// addLine writes a line. The mutex is held.
func (m *memory) addLine(line memoryLine) error {
	if !m.consent.Keeps() || m.dry {
		m.takeLine(line)
		return nil
	}
	file, err := m.fileToAdd()
	if err != nil {
		return err
	}
	err = m.appendLine(file, line)
	if (errors.Is(err, errFull) || errors.Is(err, errOwnFull)) && m.sweepGone(file) {
		err = m.appendLine(file, line)
	}
	return err
}

// fileToAdd returns the path of the file, in a folder that is there. The mutex is held.
func (m *memory) fileToAdd() (string, error) {
	if m.held != nil {
		return m.held.Name(), nil
	}
	dir, err := m.consent.MakeFolder()
	return filepath.Join(dir, memoryName), err
}

// lockWait bounds how long a hub waits for another one that writes the file. Tests set a longer one, which a slow machine needs.
var lockWait = time.Second

// lockFile holds the file as it is: against those who replace it, and if alone is set against those who add lines too. A hub that ends lets go of it.
func lockFile(file string, alone bool, wait time.Duration) (unlock func(), err error) {
	l := flock.New(file+".lock", flock.SetPermissions(consent.FileMode))
	try := l.TryRLockContext
	if alone {
		try = l.TryLockContext
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if _, err := try(ctx, 5*time.Millisecond); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("another hub holds it: %w", err)
		}
		return nil, fmt.Errorf("the lock of %s: %w", file, err)
	}
	return func() { _ = l.Unlock() }, nil
}

// appendLine adds a line to the file in one write, after whatever a killed hub left unfinished.
func (m *memory) appendLine(file string, line memoryLine) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, closeFile, err := m.openFile(file)
	if err != nil {
		return err
	}
	defer closeFile()
	fi, err := f.Stat()
	switch {
	case err != nil:
	case m.sizes[line.Owner]+int64(len(text)) > maxOwned && line.Owner != "":
		err = fmt.Errorf("%s: %w", f.Name(), errOwnFull)
	case fi.Size()+int64(len(text)) > maxMemory:
		err = fmt.Errorf("%s: %w", f.Name(), errFull)
	}
	if err != nil {
		return err
	}
	before := stateOf(fi)
	size := int64(len(text)) // as a hub counts that reads the line
	text = append(append([]byte{'\n'}, text...), '\n')
	if _, err := f.Write(text); err != nil {
		return err
	}
	m.takeLine(line)
	m.sizes[line.Owner] += size
	if fi, err = f.Stat(); err == nil && (before == m.read || m.read == fileState{} && before.size == 0) && fi.Size() == before.size+int64(len(text)) {
		m.read = stateOf(fi) // no one else has written: what is known is what it says
	}
	return nil
}

// sweepAge is how long a hub does not look again for names that are gone.
const sweepAge = 10 * time.Second

// sweepGone replaces the file by one without the names that are gone, and reports whether it has. It looks for them first, which may take long,
// and holds the file only while it replaces it, so that no line is lost that another hub adds meanwhile. The mutex is held.
func (m *memory) sweepGone(file string) bool {
	if time.Since(m.swept) < sweepAge {
		return false
	}
	m.swept = time.Now()
	m.closeHeld() // it is replaced
	text, err := atomicfile.Read(file)
	if err != nil {
		return false
	}
	gone := map[string]bool{}
	for row := range bytes.Lines(text) {
		var line memoryLine
		if json.Unmarshal(row, &line) == nil && line.isGone() {
			gone[string(row)] = true
		}
	}
	if len(gone) == 0 || rewriteWithout(file, gone) != nil {
		return false
	}
	m.clearTo(fileState{})
	return m.readIfChanged() == nil
}

// rewriteWithout replaces a file by one without some rows.
func rewriteWithout(file string, gone map[string]bool) error {
	unlock, err := lockFile(file, true, lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	text, err := atomicfile.Read(file)
	if err != nil {
		return err
	}
	var kept []byte
	for row := range bytes.Lines(text) {
		if !gone[string(row)] && json.Valid(row) { // else it is empty, or one that a killed hub has not written whole
			kept = append(append(kept, bytes.TrimRight(row, "\n")...), '\n')
		}
	}
	return atomicfile.WriteHint(file, kept, consent.FileMode)
}

// coversAll reports whether each of some places is one that a name opened, or lies below one.
// A place that ends in a slash is a directory: a file never becomes one.
func coversAll(was, now []string) bool {
	return !slices.ContainsFunc(now, func(n string) bool {
		return !slices.ContainsFunc(was, func(w string) bool {
			return w == n || strings.HasSuffix(w, "/") && strings.HasPrefix(trimMark(n)+"/", w)
		})
	})
}

// trimMark returns a place without the mark of a directory.
func trimMark(place string) string {
	if len(place) > 1 {
		return strings.TrimSuffix(place, "/")
	}
	return place
}
