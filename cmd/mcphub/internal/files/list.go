package files

import (
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/printable"
)

const (
	maxEntries = 20_000  // of one directory
	maxNodes   = 20_000  // of one tree
	maxDepth   = 64      // of a tree or a search
	maxMatches = 10_000  // of one search
	maxVisited = 500_000 // entries that a single search looks at
)

// An entry is one name in a directory, as it is, links not followed.
type entry struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Size *int64 `json:"size,omitempty"`

	info fs.FileInfo
}

func fileKind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m.IsRegular():
		return "file"
	case m&fs.ModeSymlink != 0:
		return "link"
	default:
		return "other"
	}
}

// openDir opens the directory that arg leads to as a root of its own.
func (c *call) openDir(arg string) (*os.Root, place, error) {
	p, err := c.resolvePath(arg, true)
	if err != nil {
		return nil, p, err
	}
	root, err := p.openDir()
	return root, p, err
}

// openDir opens the directory at a place.
func (p place) openDir() (*os.Root, error) {
	if p.info == nil {
		return nil, fs.ErrNotExist
	}
	if !p.info.IsDir() {
		return nil, errors.New("it is not a directory")
	}
	return p.root.OpenRoot(p.rel)
}

// listEntries lists dir, sorted by name, and whether names were left out. Each is
// looked at through dir, never by its full path.
func (c *call) listEntries(dir *os.Root, most int) ([]entry, bool, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	names, err := f.Readdirnames(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	cut := len(names) > most
	if cut {
		names = names[:most]
	}
	slices.Sort(names)
	out := make([]entry, 0, len(names))
	for _, name := range names {
		if err := c.ctx.Err(); err != nil {
			return nil, false, err
		}
		info, err := dir.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile
		}
		if err != nil {
			out = append(out, entry{Name: name, Type: "other"})
			continue
		}
		out = append(out, entry{Name: name, Type: fileKind(info.Mode()), info: info})
	}
	return out, cut, nil
}

var marks = map[string]string{"file": "[FILE]", "directory": "[DIR]", "link": "[LINK]", "other": "[OTHER]"}

func listDirectory(c *call, args pathArgs) (*mcp.CallToolResult, error) {
	list, p, cut, err := c.listDirectory(*args.Path)
	if err != nil {
		return nil, err
	}
	var sb strings.Builder
	for _, e := range list {
		fmt.Fprintf(&sb, "%s %s\n", marks[e.Type], showName(e.Name))
	}
	if cut {
		fmt.Fprintf(&sb, "... only %d entries are listed\n", maxEntries)
	}
	return mcp.NewToolResultStructured(map[string]any{"path": p.placePath(), "entries": list, "truncated": cut},
		strings.TrimSuffix(sb.String(), "\n")), nil
}

func (c *call) listDirectory(path string) ([]entry, place, bool, error) {
	dir, p, err := c.openDir(path)
	if err != nil {
		return nil, p, false, failedError("list", path, err)
	}
	defer dir.Close()
	list, cut, err := c.listEntries(dir, maxEntries)
	if err != nil {
		return nil, p, false, failedError("list", path, err)
	}
	return list, p, cut, nil
}

func listSizes(c *call, args sizesArgs) (*mcp.CallToolResult, error) {
	list, p, cut, err := c.listDirectory(*args.Path)
	if err != nil {
		return nil, err
	}
	var files, dirs int
	var total int64
	for i, e := range list {
		switch e.Type {
		case "file":
			list[i].Size = new(e.info.Size())
			files++
			total += e.info.Size()
		case "directory":
			dirs++
		}
	}
	if *args.SortBy == "size" {
		slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(b.entryBytes(), a.entryBytes()) })
	}
	var sb strings.Builder
	for _, e := range list {
		size := ""
		if e.Size != nil {
			size = humanSize(*e.Size)
		}
		fmt.Fprintf(&sb, "%-7s %10s  %s\n", marks[e.Type], size, showName(e.Name))
	}
	if cut {
		fmt.Fprintf(&sb, "... only %d entries are listed\n", maxEntries)
	}
	fmt.Fprintf(&sb, "\nTotal: %d files, %d directories, %s", files, dirs, humanSize(total))
	return mcp.NewToolResultStructured(map[string]any{
		"path": p.placePath(), "entries": list, "truncated": cut, "files": files, "directories": dirs, "totalSize": total,
	}, sb.String()), nil
}

func (e entry) entryBytes() int64 {
	if e.Size == nil {
		return -1
	}
	return *e.Size
}

// humanSize writes a number of bytes in binary units.
func humanSize(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if v /= 1024; v < 1024 {
			break
		}
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}

// A node is one entry of directory_tree.
type node struct {
	Name      string  `json:"name"`
	Type      string  `json:"type"`
	Children  *[]node `json:"children,omitempty"`  // directories only
	Truncated bool    `json:"truncated,omitempty"` // children are missing: too many, or too deep
	Error     string  `json:"error,omitempty"`     // why it cannot be listed
}

func directoryTree(c *call, args treeArgs) (*mcp.CallToolResult, error) {
	arg := *args.Path
	exclude, err := newGlobs(args.Exclude)
	if err != nil {
		return nil, err
	}
	dir, p, err := c.openDir(arg)
	if err != nil {
		return nil, failedError("list", arg, err)
	}
	defer dir.Close()
	t := treeWalk{call: c, exclude: exclude, left: maxNodes}
	top := node{}
	t.fillNode(&top, dir, "", 0)
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	if top.Error != "" {
		return nil, failedError("list", arg, errors.New(top.Error))
	}
	text, err := stdjson.MarshalIndent(top.Children, "", "  ")
	if err != nil {
		return nil, failedError("list", arg, err)
	}
	res := mcp.NewToolResultStructured(map[string]any{"path": p.placePath(), "tree": top.Children, "truncated": t.cut}, string(text))
	if t.cut {
		res.Content = append(res.Content, mcp.NewTextContent(fmt.Sprintf(
			"Note: the tree is cut at %d entries and %d levels. Directories marked truncated have more: list them on their own, or use excludePatterns.", maxNodes, maxDepth)))
	}
	return res, nil
}

type treeWalk struct {
	*call
	exclude globs
	left    int
	cut     bool
}

// fillNode lists dir into n and goes down into its directories.
func (t *treeWalk) fillNode(n *node, dir *os.Root, rel string, depth int) {
	children := []node{}
	n.Children = &children
	list, cut, err := t.listEntries(dir, maxEntries)
	if err != nil {
		n.Error = errorReason(err)
		return
	}
	n.Truncated = cut
	for _, e := range list {
		sub := path.Join(rel, e.Name)
		if t.exclude.matchAny(sub) {
			continue
		}
		if t.left--; t.left < 0 {
			n.Truncated = true
			break
		}
		child := node{Name: e.Name, Type: e.Type}
		if e.Type == "directory" {
			t.descendInto(&child, dir, sub, depth+1)
		}
		children = append(children, child)
	}
	t.cut = t.cut || n.Truncated
}

func (t *treeWalk) descendInto(n *node, dir *os.Root, rel string, depth int) {
	if depth >= maxDepth || t.left <= 0 {
		n.Children, n.Truncated, t.cut = &[]node{}, true, true
		return
	}
	sub, err := dir.OpenRoot(n.Name)
	if err != nil {
		n.Children, n.Error = &[]node{}, errorReason(err)
		return
	}
	defer sub.Close()
	t.fillNode(n, sub, rel, depth)
}

func searchFiles(c *call, args searchArgs) (*mcp.CallToolResult, error) {
	arg, pattern := *args.Path, *args.Pattern
	if err := checkGlob(pattern); err != nil {
		return nil, err
	}
	exclude, err := newGlobs(args.Exclude)
	if err != nil {
		return nil, err
	}
	dir, p, err := c.openDir(arg)
	if err != nil {
		return nil, failedError("search", arg, err)
	}
	defer dir.Close()
	s := search{call: c, base: p.placePath(), pattern: pattern, exclude: exclude, found: []string{}}
	if err := s.walkBelow(dir, "", 0); err != nil {
		return nil, failedError("search", arg, err)
	}
	lines := make([]string, 0, len(s.found)+1)
	for _, f := range s.found {
		lines = append(lines, showName(f))
	}
	if len(lines) == 0 {
		lines = append(lines, "No matches found")
	}
	if s.cut {
		lines = append(lines, "... the search stopped early: search a smaller directory, or use excludePatterns")
	}
	return mcp.NewToolResultStructured(map[string]any{"matches": s.found, "truncated": s.cut}, strings.Join(lines, "\n")), nil
}

type search struct {
	*call
	base    string
	pattern string
	exclude globs
	found   []string
	visited int
	cut     bool
}

// walkBelow looks at all below dir. A directory that cannot be opened is passed over,
// the first one aside.
func (s *search) walkBelow(dir *os.Root, rel string, depth int) error {
	list, cut, err := s.listEntries(dir, maxVisited)
	if err != nil {
		return err
	}
	s.cut = s.cut || cut
	for _, e := range list {
		sub := path.Join(rel, e.Name)
		if s.exclude.matchAny(sub) {
			continue
		}
		s.visited++
		if s.visited > maxVisited || len(s.found) >= maxMatches {
			s.cut = true
			return nil
		}
		if doublestar.MatchUnvalidated(s.pattern, sub) {
			s.found = append(s.found, filepath.Join(s.base, filepath.FromSlash(sub)))
		}
		if e.Type != "directory" {
			continue
		}
		if depth+1 >= maxDepth {
			s.cut = true
			continue
		}
		inner, err := dir.OpenRoot(e.Name)
		if err != nil {
			continue
		}
		err = s.walkBelow(inner, sub, depth+1)
		inner.Close()
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			continue
		}
	}
	return nil
}

// globs are patterns of which one must match.
type globs []string

func newGlobs(patterns []string) (globs, error) {
	var out globs
	for _, p := range patterns {
		if err := checkGlob(p); err != nil {
			return nil, err
		}
		out = append(out, strings.TrimSuffix(p, "/"))
	}
	return out, nil
}

func (g globs) matchAny(rel string) bool {
	return slices.ContainsFunc(g, func(p string) bool {
		return doublestar.MatchUnvalidated(p, rel) ||
			!strings.Contains(p, "/") && doublestar.MatchUnvalidated(p, path.Base(rel))
	})
}

// checkGlob refuses a pattern that is malformed, that could match nothing below
// its directory, or that would take long to match: alternatives multiply.
func checkGlob(p string) error {
	switch {
	case p == "" || !doublestar.ValidatePattern(p):
		return fmt.Errorf("invalid arguments: the pattern %q is malformed", printable.Clip(p, 200))
	case len(p) > 1024 || strings.Count(p, "{") > 8 || strings.Count(p, "**") > 8:
		return errors.New("invalid arguments: the pattern is too long or too complicated: search a smaller directory with a simpler one")
	case path.IsAbs(p) || slices.Contains(strings.Split(p, "/"), ".."):
		return fmt.Errorf("invalid arguments: the pattern %q must be relative to path, without \"..\"", p)
	}
	return nil
}

func fileInfo(c *call, args pathArgs) (*mcp.CallToolResult, error) {
	arg := *args.Path
	p, err := c.resolvePath(arg, true)
	if err == nil && p.info == nil {
		err = fs.ErrNotExist
	}
	var itself place
	if err == nil {
		itself, err = c.resolvePath(arg, false)
	}
	if err != nil {
		return nil, failedError("describe", arg, err)
	}
	link := itself.info != nil && itself.info.Mode()&fs.ModeSymlink != 0
	mode := p.info.Mode()
	modified := p.info.ModTime().UTC().Format(time.RFC3339Nano)
	permissions := fmt.Sprintf("%03o", mode.Perm())
	text := fmt.Sprintf("path: %s\ntype: %s\nsize: %d\nmodified: %s\npermissions: %s\nisDirectory: %t\nisFile: %t\nisLink: %t",
		showName(p.placePath()), fileKind(mode), p.info.Size(), modified, permissions, mode.IsDir(), mode.IsRegular(), link)
	return mcp.NewToolResultStructured(map[string]any{
		"path": p.placePath(), "type": fileKind(mode), "size": p.info.Size(), "modified": modified, "permissions": permissions,
		"isDirectory": mode.IsDir(), "isFile": mode.IsRegular(), "isLink": link,
	}, text), nil
}

// listAllowed answers in the words of the official server, so that what compares
// the list with the roots it serves needs to know one form only.
func listAllowed(c *call, _ struct{}) (*mcp.CallToolResult, error) {
	out := map[string]any{"directories": c.bounds.allowedPaths(), "skipped": append([]skipped{}, c.bounds.skipped...)}
	if c.lastErr != "" {
		out["lastError"] = c.lastErr
	}
	return mcp.NewToolResultStructured(out, "Allowed directories:\n"+strings.Join(c.bounds.allowedPaths(), "\n")), nil
}
