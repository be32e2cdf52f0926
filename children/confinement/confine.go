package confinement

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/hints"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/wellknown"
)

// A Confinement is how the kernel holds one run of a child.
type Confinement struct {
	Profile *sandbox.Profile // nil: it is not confined
	Kernel  sandbox.Kernel   // that Profile is for
	Report  sandbox.Report
	Temp    string // the child's own temporary folder; "": it has the system's

	Makes       []StateFolder // see Make
	Private     []PrivateFile // likewise
	Opens       []string      // what the names of the entry open beside the boundary and the program; for people
	KeepRunning bool          // it is not started again for a wider boundary
	Words       hints.Reader  // reads what it says, and counts what it was refused
}

// Same reports whether two Confinements hold a child alike.
func (confined *Confinement) Same(o *Confinement) bool {
	if confined == nil || o == nil {
		return confined == o
	}
	return confined.Profile.Equal(o.Profile) && confined.Temp == o.Temp
}

// Confines reports whether the kernel is to hold any of what a program of an entry starts, as
// far as the entry tells.
func (h Host) Confines(prog program.Program) bool {
	return prog.Sandbox.Confines() && prog.Unheld(h.kernel()) == "" && (h.boundary.WhyOpen == "" || !prog.Sandbox.Default)
}

// Confine returns how the kernel is to hold a child, and gives the child folders of its own
// instead of the user's. It returns nil if the entry's sandbox is off. Its error reports why a
// child does not start: its sandbox is required and the kernel cannot hold it, or its own
// program is not opened.
func (h Host) Confine(child Child) (*Confinement, error) {
	if child.Program.Sandbox.Mode == sandbox.Off {
		return nil, nil
	}
	h.owner, h.maker = ownerOf(child.Program), ownerOf(bareProgram(child.Program))
	c := confining{host: h, child: child, settings: child.Program.Sandbox, result: &Confinement{Kernel: h.kernel()}}
	c.openForWriting()
	c.recognizeServer()
	unheld := cmp.Or(child.Program.Unheld(c.result.Kernel), h.unheldFile(child.Command))
	switch {
	case unheld != "":
		c.lacks = []string{unheld}
	case h.boundary.WhyOpen != "":
		c.lacks, c.profile.Unbounded = []string{"files are not confined: " + h.boundary.WhyOpen}, true
	default:
		if err := c.openFiles(); err != nil {
			return nil, err
		}
	}
	held := unheld == "" && !(c.profile.Unbounded && c.settings.Default)
	if err := c.compareWithKernel(held); err != nil {
		return nil, err
	}
	if held {
		c.fillReport()
	}
	return c.result, nil
}

// ownerOf tells entries apart in the memory of names.
func ownerOf(prog program.Program) string { return prog.Digest()[:16] }

// bareProgram returns a program without what is allowed to it.
func bareProgram(prog program.Program) program.Program {
	prog.Sandbox = sandbox.Settings{}
	return prog
}

// A confining is one call of [Host.Confine]. Its methods are the steps.
type confining struct {
	host     Host // its boundary has what the entry opens for writing as well
	child    Child
	settings sandbox.Settings
	server   *wellknown.Server // nil: it is not a well-known one
	profile  *sandbox.Profile  // what the kernel is to enforce
	result   *Confinement
	shared   shares // what server needs of that which all programs of the user share

	files       []sandbox.File // of sandbox.write, in folders that stay closed
	notWritable []string       // why paths of sandbox.write are not opened
	fromServer  *grant         // what the profile of server opens; nil: none is known, or no file is confined
	lacks       []string       // what the child should have, or be held to, and is not
	closed      []string       // what is opened no more, and why
}

// openForWriting adds what the entry opens for writing to the boundary.
func (c *confining) openForWriting() {
	h := &c.host
	h.boundary.Areas = slices.Clip(h.boundary.Areas)
	for _, path := range c.settings.Write {
		w, why, _ := h.followPath(path, toOpen)
		if why = cmp.Or(h.withheldReason("write", path), h.linkedReason(path), why); why != "" {
			c.notWritable = append(c.notWritable, why)
			continue
		}
		isFile := w.end != nil || filepath.Ext(w.real) != "" // what is missing may become a folder
		if f := h.brokeredFile(&w); f != nil && isFile {
			c.files = append(c.files, *f)
			continue
		}
		access := all
		if sandbox.Contains("/dev", path) {
			access |= sandbox.Device
		}
		h.boundary.Areas = append(h.boundary.Areas, sandbox.Rule{Path: w.real, Access: access})
	}
}

// recognizeServer begins the profile with what the entry says, and with what is known of its
// server if the entry says nothing.
func (c *confining) recognizeServer() {
	c.server = c.host.knownAs(c.child)
	needs := &wellknown.Kernel{}
	if c.server != nil {
		needs = c.server.Kernel
	}
	c.result.KeepRunning = c.settings.KeepRunning.Or(needs.KeepRunning)
	c.profile = &sandbox.Profile{
		Network: c.settings.Network, Sockets: c.settings.Sockets.Or(needs.Sockets),
		Attributes: c.settings.Mode == sandbox.Required, Except: c.host.closedFolder(),
	}
	c.shared = shares{memory: c.profile.Sockets, terminals: needs.Terminals}
}

// openFiles fills in the rules of the profile. Its error reports why the child's own program
// is not opened.
func (c *confining) openFiles() error {
	rules := slices.Concat(c.host.boundary.Areas, c.openOwnFolders())
	o := opening{h: c.host, rules: rules, parts: c.host.programParts(c.child)}
	for _, r := range c.host.boundary.Areas {
		o.watched = append(o.watched, r.Path)
	}
	n := c.host.collectNames(c.child, o.parts, c.server)
	n.openNames()
	n.openRecorded(c.settings.Recorded.Paths)
	o.openForWriting(slices.Concat(n.rules, c.host.repositoryRules(c.server)))
	files := slices.Concat(c.files, n.files)
	for _, f := range files { // it opens nothing else that what lies there leads to
		o.h.boundary.Areas = append(slices.Clip(o.h.boundary.Areas), f.Rule())
	}
	o.openAll(c.child, c.shared)
	if o.programClosed != "" {
		return errors.New("command: " + o.programClosed)
	}
	c.profile.Rules = o.rules
	c.profile.Files = closedFiles(files, c.profile)
	if c.result.Kernel.Excepts() {
		c.profile.Withheld = c.host.boundary.Withheld
	}
	c.profile.Watch(o.watched)
	c.profile.OpenWith(c.host.looks)
	c.result.Makes = append(c.result.Makes, n.makes...)
	c.result.Private = o.private
	c.result.Report.Named, c.result.Opens, c.result.Report.Never = n.finishProfile(c.profile), n.opens, n.laterReason()
	c.result.Report.Recorded, c.result.Report.Of = n.recorded, c.identifyProfile(o.parts)
	c.compareRecorded()
	c.lacks = slices.Concat(c.lacks, c.notWritable, o.conflicts)
	for _, r := range c.profile.RulesAroundExcept() {
		c.closed = append(c.closed, fmt.Sprintf("%s is never opened, so nothing new can be made in %s, nor in the directories between them", c.profile.Except, r.Path))
	}
	c.closed = slices.Concat(c.closed, n.closed, o.closed)
	if c.fromServer != nil {
		c.closed = append(c.closed, c.fromServer.closed...)
	}
	return nil
}

// openOwnFolders opens what belongs to this child alone: folders that the hub has made for it,
// and what is known of its server.
func (c *confining) openOwnFolders() []sandbox.Rule {
	cache := c.host.cacheDir(c.child.Env) // of the user: the next line may set another
	rules := c.child.privateFolders(c.server != nil && c.server.Kernel.Cache)
	c.result.Temp = c.child.Temp
	if c.server == nil {
		return rules
	}
	c.fromServer = c.host.grantTo(c.server.Kernel, c.child, cache)
	c.result.Makes, c.lacks = c.fromServer.makes, c.fromServer.lacks
	return append(rules, c.fromServer.rules...)
}

// compareWithKernel adds what the kernel lacks for the profile. held is false if nothing is to
// be enforced. Its error reports what is missing of a sandbox that is required.
func (c *confining) compareWithKernel(held bool) error {
	incomplete := len(c.lacks) > 0
	if held {
		lacks, required := c.result.Kernel.Lacks(c.profile, func() []string { return sandbox.Reach(c.host.environ, c.host.home) })
		c.lacks, incomplete = append(c.lacks, lacks...), incomplete || required
	}
	if c.settings.Mode == sandbox.Required && incomplete {
		return fmt.Errorf("its sandbox is \"required\", and the kernel cannot hold it: %s", strings.Join(c.lacks, "; "))
	}
	c.result.Report.Mode, c.result.Report.Lacks = c.settings.Mode, c.lacks
	return nil
}

// fillReport fills in what people are told about a profile that is enforced, and what tells
// refusals in the child's stderr.
func (c *confining) fillReport() {
	p, r, words := c.profile, &c.result.Report, &c.result.Words
	c.result.Profile, r.Profile = p, p
	r.Closed = c.closed
	r.Gives = describeProfile(c.server, c.fromServer, p.Sockets && c.settings.Sockets == sandbox.Unsaid, c.result.KeepRunning && c.settings.KeepRunning == sandbox.Unsaid)
	words.Profile, words.Named, words.Never, words.Shared = p, r.Named, r.Never, c.child.Program.Shared
	words.Brokers = c.host.kernel().Asks()
	for i := range p.Files {
		p.Files[i].Refused = words.NoteRefused
	}
	words.Home, words.Env, words.Dirs = c.host.home, c.child.Env.List(), append(words.Dirs, c.child.Dir)
	for _, area := range c.host.boundary.Areas {
		words.Dirs = append(words.Dirs, area.Path)
	}
	switch {
	case p.Unbounded: // State stays None: no file is confined
	case len(r.Lacks) > 0:
		r.State = sandbox.Partial
	default:
		r.State = sandbox.Held
	}
}

// unheldFile works like [Program.Unheld] by the file that is started. A program below /snap/bin
// is a link to the one that starts them all.
func (h Host) unheldFile(path string) string {
	w := h.wayOf(path)
	if filepath.Base(w.real) == "snap" {
		return program.InItsOwnSandbox
	}
	if w.end != nil && w.end.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return program.AsAnotherUser
	}
	return ""
}
