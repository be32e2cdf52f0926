package servers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// configured is one entry of someone's configuration, with the world that it speaks of. In every string, {home}, {project} and
// the other names of desk.fill stand for what a test has made.
type configured struct {
	name   string
	from   string // who tells people to write it so; of a shape what it is an example of
	server string // what runs: a package, or a small server of testdata/everyday
	real   bool   // the server is the published package, pinned; else one of ours does what that does, or its folders are laid out by us
	quick  bool   // it is part of the ordinary run, too
	closed bool   // it needs what no name opens, by what docs/sandbox.md says: it is not counted, and has to be mended as the hub says
	needs  []string

	varies *regexp.Regexp // what its texts say about the machine, which is another each time

	home  string            // the name of the home folder, if that is what it is about
	files map[string]string // that are there before; a text @NAME is that file of testdata/everyday
	lay   func(*desk)       // what else is there before
	hub   obj               // as it stands in hub.json
	open  []string          // the folders that are open in the editor; nil: the project

	read, write act
	leaves      map[string]string // the files that the write leaves, and what each holds
	apart       obj               // the entry with a folder of its own for its file, if the hub asks for one
}

// An act is one call.
type act struct {
	tool, args string
	want       string // what the answer must hold
	fails      bool   // the answer may be an error: its service is not reached from here
}

// These are how many entries do the same through the hub as without it, which only ever rise, and of how many others what the hub
// says is no help yet, which only ever fall.
const (
	sameOfAll   = 89
	sameOfQuick = 17
	notMended   = 0
)

// TestEverydayEntries runs entries that people have in their configurations, without the hub and through it as it is
// shipped: they offer the same, answer the same and leave the same on disk, held by the kernel and without a word about a
// sandbox in their entry. MCPHUB_E2E_ENTRY, a regular expression, runs some of them alone.
func TestEverydayEntries(t *testing.T) {
	world.RequireLandlock(t)
	world.RequireNode(t)
	var chosen []configured
	for _, e := range slices.Concat(publicEntries, shapeEntries) {
		if only := os.Getenv("MCPHUB_E2E_ENTRY"); only != "" && !regexp.MustCompile(only).MatchString(e.name) {
			continue
		}
		if world.Long || e.quick {
			chosen = append(chosen, e)
		}
	}
	if world.Long {
		for _, folder := range []string{"everyday", "servers", "compat"} {
			world.NPM.Of(t, folder) // once, and not by all at a time
		}
	}
	got := make([]entryResult, len(chosen))
	t.Run("entries", func(t *testing.T) {
		for i, e := range chosen {
			got[i].skipped = true // until it comes to its end
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				got[i] = e.compare(t)
			})
		}
	})
	var rows strings.Builder
	var same, others, mended, realOnes, ran, skipped int
	for i, e := range chosen {
		o := got[i]
		kind := "stand-in"
		if e.real {
			kind = "real"
			realOnes++
		}
		if o.skipped {
			skipped++
		} else {
			if !e.closed {
				ran++
			}
			switch {
			case o.differs == "" && !e.closed:
				same++
			case o.differs == "":
				t.Errorf("%s needs nothing that is closed, so it is counted with the others", e.name)
			case o.mended != "":
				mended++
				others++
			default:
				others++
			}
		}
		fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s | %s |\n", e.name, e.server, kind, e.from, o.word(), strings.ReplaceAll(o.differs, "\n", " "))
	}
	t.Logf("%d of %d do the same; of %d others %d do once they are mended as the hub says; %d of all %d are real\n| entry | server | | from | through the hub | what differs |\n|---|---|---|---|---|---|\n%s",
		same, ran, others, mended, realOnes, len(chosen), rows.String())
	if os.Getenv("MCPHUB_E2E_ENTRY") != "" {
		return
	}
	least := sameOfQuick
	if world.Long {
		least = sameOfAll
		if len(chosen) < 70 || realOnes < 45 || len(publicEntries) < 40 || len(shapeEntries) < 30 {
			t.Errorf("%d entries, %d of them real, %d of public configurations and %d shapes are too few", len(chosen), realOnes, len(publicEntries), len(shapeEntries))
		}
	}
	if same < least-skipped {
		t.Errorf("%d of %d do the same, want %d", same, ran, least)
	}
	if others-mended > notMended {
		t.Errorf("of %d others %d do not after what the hub says, want at most %d", others, others-mended, notMended)
	}
}

// TestEverydayEntriesForOthers runs them again as an ordinary user.
func TestEverydayEntriesForOthers(t *testing.T) {
	t.Parallel()
	if world.IsForOthers() || os.Geteuid() != 0 && !needs.InCI() {
		t.Skip("TestEverydayEntries runs as an ordinary user already")
	}
	world.RequireLandlock(t)
	world.RequireNode(t)
	for dir := world.NPM.Program; dir != "/"; dir = filepath.Dir(dir) {
		if fi, err := os.Stat(dir); err != nil || fi.Mode()&0o001 == 0 {
			needs.Missing(t, "others may not enter ", dir, ", where these tests lie: ", err)
		}
	}
	var more []string
	if needs.Has("javac") {
		more = append(more, prebuilt(t, "notes.jar"))
	}
	if world.Long {
		more = append(more, prebuilt(t, "go-memory"), prebuilt(t, "gopls"))
	}
	world.AsOrdinaryUser(t, []string{"TestEverydayEntries", "TestASocketOfItsOwn"}, more...)
}

// entryResult is what became of an entry.
type entryResult struct {
	skipped bool
	differs string // what is not the same through the hub; "" nothing
	mended  string // the command that the hub printed, after which it is the same
}

func (o entryResult) word() string {
	switch {
	case o.skipped:
		return "not run"
	case o.differs == "":
		return "same"
	case o.mended != "":
		return "after " + o.mended
	}
	return "DIFFERS"
}

// compare runs an entry in two worlds that are alike, without the hub and with it.
func (e *configured) compare(t *testing.T) entryResult {
	e.need(t)
	without := e.at(newDesk(t, e))
	direct := without.gather()
	if why := direct.wrong(e); why != "" {
		t.Fatalf("it does not work without the hub, so it shows nothing: %s", why)
	}
	with := e.at(newDesk(t, e))
	with.configure(e.hub)
	hub, hints := with.gatherHeld(nil, direct)
	o := entryResult{differs: hub.differs(e, direct)}
	if o.differs == "" {
		return o
	}
	t.Logf("through the hub: %s\nwhat its user reads:\n%s\nits log:\n%s", o.differs, hints, with.log)
	// The hub says how to mend it, and is taken at its word. What was closed first may have hidden more.
	var done []string
	for range maxMends {
		commands := slices.DeleteFunc(allowed.FindAllString(hints, -1), func(c string) bool { return slices.Contains(done, c) })
		switch {
		case len(commands) > 0:
			done = append(done, slices.Compact(commands)...)
		case e.apart != nil && len(done) == 0 && strings.Contains(hints, "folder of its own"):
			with.configure(e.apart)
		default:
			return o
		}
		hub, hints = with.gatherHeld(commands, direct)
		mend := strings.ReplaceAll(cmp.Or(strings.Join(done, " && "), "a folder of its own"), with.Dir, "")
		still := hub.differs(e, direct)
		if still == "" {
			o.mended = mend
			return o
		}
		o.differs += "; and after " + mend + ": " + still
	}
	return o
}

// maxMends is how often a person looks what is to be mended.
const maxMends = 3

// need asks for the programs of an entry.
func (e *configured) need(t *testing.T) {
	t.Helper()
	for _, program := range e.needs {
		needs.Program(t, program)
	}
	if strings.HasSuffix(e.server, ".py") {
		needs.Program(t, "python3")
	}
	if command, ok := e.hub["command"].(string); ok {
		needs.Line(t, command)
	}
}

var allowed = regexp.MustCompile(`(?m)mcphub allow [^\n` + "`" + `]+`)

// desk is a world with one entry in it.
type desk struct {
	*world.World
	entry *configured
	use   obj // the entry of hub.json
	fill  *strings.Replacer
	plain *strings.Replacer
	apart bool   // its client tells servers of no folders
	log   string // of its last hub, and of the commands before it
}

func newDesk(t *testing.T, e *configured) *desk {
	t.Helper()
	homes := ""
	if os.Geteuid() == 0 {
		homes = "/home" // where people's home folders are, and not below a folder that everybody writes
	}
	dir, err := os.MkdirTemp(homes, "e2e")
	world.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := world.NewIn(t, dir)
	if e.home != "" {
		world.Must(t, os.Rename(w.Home, filepath.Join(w.Dir, e.home)))
		w.Home = filepath.Join(w.Dir, e.home)
	}
	d := &desk{World: w, entry: e, use: e.hub}
	for _, folder := range []string{".config", ".cache", ".local/share", ".local/state", ".local/bin"} { // that every home has
		world.Must(t, os.MkdirAll(filepath.Join(w.Home, folder), 0o700))
	}
	folder := func(name string) string {
		return world.Source("e2e", name, "node_modules")
	}
	places := []string{"{dir}", w.Dir, "{home}", w.Home, "{project}", w.Project, "{node}", world.NPM.Program, "{nodebin}", filepath.Dir(world.NPM.Program), "{npm}", folder("."),
		"{servers}", folder("servers"), "{compat}", folder("compat"), "{everyday}", folder("everyday"), "{listed}", folder("listed")}
	d.plain = strings.NewReplacer(places...)
	for i := 1; i < len(places); i += 2 {
		places[i] = strings.Trim(world.Raw(t, places[i]), `"`)
	}
	d.fill = strings.NewReplacer(places...)
	return d
}

// at lays out what the entry speaks of.
func (e *configured) at(d *desk) *desk {
	d.T.Helper()
	for _, name := range world.Names(e.files) {
		text := e.files[name]
		if given, ok := strings.CutPrefix(text, "@"); ok {
			b, err := os.ReadFile(filepath.Join("testdata", "everyday", given))
			world.Must(d.T, err)
			text = string(b)
		} else {
			text = d.plain.Replace(text)
		}
		path := d.plain.Replace(name)
		world.Must(d.T, os.MkdirAll(filepath.Dir(path), 0o755)) //nolint:gosec // as the folders of a home are
		if strings.HasSuffix(path, "/") {
			continue
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		world.Must(d.T, os.WriteFile(path, []byte(text), mode))
	}
	if e.lay != nil {
		e.lay(d)
	}
	return d
}

// link makes a link, with placeholders in both names.
func (d *desk) link(target, at string) {
	d.T.Helper()
	at = d.plain.Replace(at)
	world.Must(d.T, os.MkdirAll(filepath.Dir(at), 0o755)) //nolint:gosec // as above
	world.Symlink(d.T, d.plain.Replace(target), at)
}

// run runs a program that the world is made with, in a folder.
func (d *desk) run(dir, name string, args ...string) {
	d.T.Helper()
	cmd := exec.Command(d.plain.Replace(name))
	for _, a := range args {
		cmd.Args = append(cmd.Args, d.plain.Replace(a))
	}
	cmd.Dir, cmd.Env = d.plain.Replace(dir), d.environment()
	if said, err := cmd.CombinedOutput(); err != nil {
		d.T.Fatalf("%v: %v\n%s", cmd.Args, err, said)
	}
}

// environment returns the environment of the user's session: what a client hands on to a server, and has itself.
func (d *desk) environment(more ...string) []string {
	env := []string{"HOME=" + d.Home, "USER=ada", "LANG=C.UTF-8", "NO_COLOR=1", "PATH=" + filepath.Dir(world.NPM.Program) + ":/usr/local/bin:/usr/bin:/bin"}
	for _, kv := range os.Environ() { // by which the registries are reached, and what is measured
		name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
		if name == "NODE_EXTRA_CA_CERTS" || name == "GOCOVERDIR" || strings.HasSuffix(name, "_PROXY") || strings.HasPrefix(name, "SSL_CERT_") || strings.HasPrefix(name, "NPM_CONFIG_") {
			env = append(env, kv)
		}
	}
	if world.RaceDetector {
		env = append(env, "GORACE=halt_on_error=1 atexit_sleep_ms=0")
	}
	return slices.Concat(env, d.Temp(), more)
}

// configure writes hub.json where it is looked for.
func (d *desk) configure(entry obj) {
	d.T.Helper()
	d.use = entry
	config := filepath.Join(d.Home, ".config", "mcphub", "hub.json")
	world.Must(d.T, os.MkdirAll(filepath.Dir(config), 0o700))
	world.Must(d.T, os.WriteFile(config, []byte(world.Raw(d.T, obj{"mcpServers": obj{"it": d.filled()}})), 0o600))
}

// filled returns the entry of hub.json with its placeholders replaced.
func (d *desk) filled() (filled obj) {
	d.T.Helper()
	world.Must(d.T, json.Unmarshal([]byte(d.fill.Replace(world.Raw(d.T, d.use))), &filled))
	return filled
}

// opened returns the folders that are open in the editor. The client, its servers and its user work in the first.
func (d *desk) opened() []string {
	if d.entry.open == nil {
		return []string{d.Project}
	}
	dirs := make([]string, 0, len(d.entry.open))
	for _, dir := range d.entry.open {
		dirs = append(dirs, d.plain.Replace(dir))
	}
	return dirs
}

// gathered is what a server has offered and said.
type gathered struct {
	tools, prompts, resources []string
	read, write               string
	left                      map[string]string
	fault                     string // why there is no more of it
	kernel                    string // why the kernel does not hold it; "" it does
}

const (
	entryBound   = 3 * time.Minute     // for an answer of a server that is installed: a machine may be busy
	installBound = 6 * bounds.Patience // for the first one of a server that is not
)

// direct has the client start the server itself.
func (d *desk) direct(talk func(c *ide.Client, prefix string)) error {
	d.T.Helper()
	f := d.filled()
	mark := "XDG_MCPHUB_E2E=" + d.Dir + "#direct;"
	env := d.environment(mark)
	if given, ok := f["env"].(obj); ok {
		for k, v := range given {
			env = append(env, k+"="+v.(string))
		}
	}
	o := ide.Options{Command: f["command"].(string), Dir: d.opened()[0], Env: env}
	if !d.apart {
		o.Roots = ide.Folders(d.opened()...)
	}
	for _, a := range f["args"].([]any) {
		o.Args = append(o.Args, a.(string))
	}
	if cwd, ok := f["cwd"].(string); ok {
		o.Dir = cwd
	}
	if path, err := d.lookUp(o.Command, env); err == nil {
		o.Command = path
	}
	c, err := ide.Start(o)
	if err != nil {
		return err
	}
	defer func() {
		_ = c.Close(2 * time.Second)
		for _, p := range world.Marked(d.T, mark) {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}()
	talk(c, "")
	return nil
}

// lookUp finds a command on the PATH of an environment, as the one who starts it does.
func (d *desk) lookUp(command string, env []string) (string, error) {
	if strings.Contains(command, "/") {
		return command, nil
	}
	for _, kv := range slices.Backward(env) {
		if list, ok := strings.CutPrefix(kv, "PATH="); ok {
			for _, dir := range filepath.SplitList(list) {
				if fi, err := os.Stat(filepath.Join(dir, command)); err == nil && fi.Mode()&0o111 != 0 {
					return filepath.Join(dir, command), nil
				}
			}
			break
		}
	}
	return "", exec.ErrNotFound
}

// throughHub has the hub start it, with nothing but the entry in its configuration, after these commands of a person. The
// session lasts as long as talk.
func (d *desk) throughHub(commands []string, talk func(c *ide.Client, prefix string)) error {
	d.T.Helper()
	d.log = ""
	for _, line := range commands {
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Dir, cmd.Env = d.opened()[0], d.environment("PATH="+filepath.Dir(world.Hub(d.T))+":/usr/bin:/bin")
		said, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, said)
		}
		d.log += string(said)
	}
	s := d.Start(ide.Options{Apart: true, Command: world.Hub(d.T), Args: []string{"serve"}, Env: d.environment(), Dir: d.opened()[0], Roots: ide.Folders(d.opened()...)})
	s.Odd = true // what the schemas of others lack is theirs
	talk(s.Client, "it__")
	s.End(world.StopBound + 5*time.Second)
	d.log += s.Stderr()
	return nil
}

// gather returns what the entry does without the hub.
func (d *desk) gather() (a gathered) {
	d.T.Helper()
	if err := d.direct(func(c *ide.Client, prefix string) { a = d.ask(c, prefix) }); err != nil {
		a.fault = err.Error()
	}
	return a
}

// gatherHeld returns what it does through the hub, after these commands of a person, and what the person can read of it.
func (d *desk) gatherHeld(commands []string, direct gathered) (a gathered, hints string) {
	d.T.Helper()
	err := d.throughHub(commands, func(c *ide.Client, prefix string) {
		a = d.ask(c, prefix)
		a.kernel = d.notHeld()
		if a.differs(d.entry, direct) == "" {
			return
		}
		world.Within(5*time.Second, func() bool { // it is written down after the answer is sent
			_, hints = d.says("why")
			return allowed.MatchString(hints)
		})
		_, said := d.says("doctor")
		hints += said + d.log // what a command has printed, too
	})
	if err != nil {
		a.fault = err.Error()
	}
	return a, hints
}

// says runs a command of the program as its user.
func (d *desk) says(args ...string) (stdout, all string) {
	d.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), installBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, world.Hub(d.T), args...)
	var out, both bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.opened()[0], d.environment(), &out, &both
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		world.Must(d.T, err)
	}
	return out.String(), out.String() + both.String()
}

// notHeld returns how the kernel fails to hold the server, by status; unix sockets may be on.
func (d *desk) notHeld() string {
	d.T.Helper()
	out, all := d.says("status", "--json")
	var v struct {
		Hubs []struct {
			Children []struct {
				Server, Kernel string
				KernelLacks    []string
			}
		}
	}
	if json.Unmarshal([]byte(out), &v) != nil || len(v.Hubs) != 1 || len(v.Hubs[0].Children) != 1 {
		return "status says " + all
	}
	switch c := v.Hubs[0].Children[0]; {
	case c.Kernel == "held":
		return ""
	case c.Kernel == "partial" && len(c.KernelLacks) == 1 && strings.HasPrefix(c.KernelLacks[0], "unix sockets are on"):
		return ""
	default:
		return fmt.Sprintf("the kernel: %q, it lacks %q", c.Kernel, c.KernelLacks)
	}
}

// bound returns how long an answer may take: a package may have to be installed first, or a program compiled.
func (d *desk) bound() time.Duration {
	if command, _ := d.use["command"].(string); slices.Contains([]string{"npx", "go"}, filepath.Base(command)) {
		return installBound
	}
	return entryBound
}

// ask has a client's conversation with the server. prefix is what the hub puts before its names.
func (d *desk) ask(c *ide.Client, prefix string) (a gathered) {
	limited := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), d.bound())
		d.T.Cleanup(cancel)
		return ctx
	}
	m, err := c.Initialize(limited())
	if err != nil {
		a.fault = "initialize: " + err.Error()
		return a
	}
	var greeting struct{ Capabilities map[string]any }
	_ = json.Unmarshal(m.Result, &greeting)
	call := func(s act) string {
		if s.tool == "" {
			return ""
		}
		return d.said(limited(), c, prefix, s)
	}
	a.read = call(d.entry.read) // first: it waits until the server is there, as the lists do not
	for _, l := range []struct {
		to   *[]string
		kind string
	}{{&a.tools, "tools"}, {&a.prompts, "prompts"}, {&a.resources, "resources"}} {
		if greeting.Capabilities[l.kind] == nil {
			continue
		}
		all, err := d.listed(limited(), c, prefix, l.kind)
		if err != nil && l.kind == "tools" { // some cannot list what their service has
			a.fault = err.Error()
		}
		*l.to = world.Names(all)
	}
	a.write = call(d.entry.write)
	a.left = map[string]string{}
	for name := range d.entry.leaves {
		text, err := os.ReadFile(d.plain.Replace(name))
		if err != nil {
			text = []byte(d.same(err.Error()))
		}
		a.left[name] = string(text)
	}
	return a
}

// said returns what a call gives, and whether that is an error.
func (d *desk) said(ctx context.Context, c *ide.Client, prefix string, s act) string {
	r, err := c.Tool(ctx, prefix+s.tool, d.fill.Replace(s.args))
	switch {
	case err != nil:
		return d.same("ERROR " + err.Error())
	case r.IsError:
		return d.same("ERROR " + r.Text)
	}
	return d.same(cmp.Or(r.Text, string(r.Structured), string(r.Result)))
}

// listed returns all pages of a list by name or URI, each entry without its name and in one form. Of the hub's tools and
// prompts it is the server's.
func (d *desk) listed(ctx context.Context, c *ide.Client, prefix, kind string) (map[string]string, error) {
	method, member := kind+"/list", "name"
	switch kind {
	case "resources":
		member = "uri"
	case "resourceTemplates":
		method, member = "resources/templates/list", "uriTemplate"
	}
	all := map[string]string{}
	params := obj{}
	for {
		m, err := c.Call(ctx, method, world.Raw(d.T, params))
		if err != nil {
			return all, err
		}
		if e, failed := m.RPCError(); failed {
			if e.Code == -32601 { // it says that it has some, and does not know of the list
				return all, nil
			}
			return all, fmt.Errorf("%s: %s", method, e.Message)
		}
		var page map[string]json.RawMessage
		var entries []obj
		if err := errors.Join(json.Unmarshal(m.Result, &page), json.Unmarshal(page[kind], &entries)); err != nil {
			return all, fmt.Errorf("%s: %w", method, err)
		}
		for _, one := range entries {
			name, _ := one[member].(string)
			mine, ok := strings.CutPrefix(name, prefix)
			if ok || member != "name" {
				delete(one, member)
				all[d.same(mine)] = d.same(world.Raw(d.T, one))
			}
		}
		if page["nextCursor"] == nil {
			return all, nil
		}
		params = obj{"cursor": page["nextCursor"]}
	}
}

// same takes from a text what is another in each world and at each time.
func (d *desk) same(text string) string {
	if d.entry.varies != nil {
		text = d.entry.varies.ReplaceAllString(text, "")
	}
	text = ownTemp.ReplaceAllString(strings.ReplaceAll(text, strings.TrimPrefix(d.Dir, "/"), "DIR"), "TEMP")
	return otherEachTime.ReplaceAllString(text, "N")
}

var (
	otherEachTime = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{7,}\b|\d+`)
	ownTemp       = regexp.MustCompile(`/tmp/mh\d+(/[\w./-]*)?`)
)

// wrong returns what the answers lack by themselves; "" nothing.
func (a gathered) wrong(e *configured) string {
	if a.fault != "" {
		return a.fault
	}
	if len(a.tools) == 0 {
		return "it offers no tools; it said: " + a.read
	}
	for _, s := range []struct {
		act
		said string
	}{{e.read, a.read}, {e.write, a.write}} {
		failed := strings.HasPrefix(s.said, "ERROR ")
		if want := otherEachTime.ReplaceAllString(s.want, "N"); failed && !s.fails || !strings.Contains(s.said, want) {
			return fmt.Sprintf("%s wants %q and says %q", s.tool, want, s.said)
		}
	}
	for _, name := range world.Names(e.leaves) {
		if !strings.Contains(a.left[name], e.leaves[name]) {
			return fmt.Sprintf("%s holds %q", name, a.left[name])
		}
	}
	return ""
}

// differs returns what is not as it was without the hub; "" nothing.
func (a gathered) differs(e *configured, direct gathered) string {
	var all []string
	for _, l := range []struct {
		what      string
		got, want []string
	}{{"tools", a.tools, direct.tools}, {"prompts", a.prompts, direct.prompts}, {"resources", a.resources, direct.resources}} {
		if !slices.Equal(l.got, l.want) {
			all = append(all, fmt.Sprintf("%d of %d %s", len(l.got), len(l.want), l.what))
		}
	}
	for _, s := range []struct{ what, got, want string }{{"read", a.read, direct.read}, {"write", a.write, direct.write}} {
		if s.got != s.want {
			all = append(all, fmt.Sprintf("%s: %.500q and not %.200q", s.what, s.got, s.want))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.left)) {
		got, want := a.left[name], direct.left[name]
		if cut := otherEachTime.ReplaceAllString; strings.Contains(want, "\x00") && strings.Contains(got, e.leaves[name]) {
			// Pages of a database may lie in another order.
		} else if cut(got, "N") != cut(want, "N") {
			all = append(all, fmt.Sprintf("%s holds %.100q", name, a.left[name]))
		}
	}
	if a.fault != "" {
		all = append(all, a.fault)
	}
	if a.kernel != "" {
		all = append(all, a.kernel)
	}
	return strings.Join(all, "; ")
}
