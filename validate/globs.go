package validate

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
	"mcphub/validate/shell"
)

// A shell expands its globs before the program sees them, so a pattern may match a symlink that leads out. The word itself is
// judged like any other. This file judges what the pattern matches: links, protected paths, and paths in the directory of a
// rule. Everything else that it matches lies in the directory in which it is matched, which the word was judged by.

const maxMatched = 1 << 12 // what one pattern may match

// yieldGlobWord yields what a glob word of a shell string matches now.
func (j *judge) yieldGlobWord(f *detect.Finding, yield func(meaning)) {
	if f.Glob == "" {
		yield(unresolvedMeaning(f.Value, CodeGlob, "too many alternatives in braces"))
		return
	}
	for _, text := range append(j.Expand(f.Glob), f.Glob) {
		if home, rest, ok := j.UserHome(text); ok {
			text = home + rest
		}
		if text == "~" || strings.HasPrefix(text, "~/") {
			text = j.Home + text[1:]
		}
		if j.Windows {
			for _, base := range append(slices.Clip(j.baseDirectories()), j.movedDirectories(f)...) {
				whole := chars.ToSlash(j.resolveBelow(base, text))
				fixed := shell.FixedPrefix(whole)
				j.yieldMatches(f, j.Platform.Clean(fixed), whole[len(fixed):], yield)
			}
			continue
		}
		if !j.Platform.IsAbs(text) {
			for _, base := range append(slices.Clip(j.baseDirectories()), j.movedDirectories(f)...) {
				j.yieldMatches(f, base, text, yield)
			}
			continue
		}
		fixed := path.Dir(shell.FixedPrefix(text) + "x")
		j.yieldMatches(f, fixed, strings.TrimLeft(text[min(len(fixed), len(text)):], "/"), yield)
	}
}

// yieldMatches yields every path below base that the pattern matches and that goes through a symlink or up.
func (j *judge) yieldMatches(f *detect.Finding, base, pattern string, yield func(meaning)) {
	start := base
	if j.container != nil {
		var ok bool
		if start, ok = j.container.ToHost(base, j.callCtx.Cwd); !ok {
			return
		}
	}
	g := globber{judge: j, f: f}
	if !g.walkParts(start, strings.Split(pattern, "/"), false, func(found string) { yield(meaning{text: f.Value, path: found, base: start}) }) {
		yield(unresolvedMeaning(f.Value, CodeBudget, "the pattern has more files to match than can be looked at"))
	}
}

// globber expands one pattern.
type globber struct {
	*judge
	f       *detect.Finding
	matched int
}

// walkParts matches parts below dir, and yields what matches. yield is no field, because the rules that g asks would have it put on the heap
// for each path of a call. linked reports that the match so far went through a link or up. The result is false if there
// is more than the budget allows.
func (g *globber) walkParts(dir string, parts []string, linked bool, yield func(path string)) bool {
	for len(parts) > 0 && !shell.HasMeta(parts[0]) {
		if !g.work.Spend(budget.LookSteps + len(dir)/budget.ByteSteps) {
			return false
		}
		if part := shell.Unhide.Replace(parts[0]); part != "" && part != "." {
			dir = g.Platform.Join(dir, part)
			linked = linked || part == ".." || g.isLink(dir)
		}
		parts = parts[1:]
	}
	if len(parts) == 0 {
		if !g.work.Spend(budget.LookSteps + len(dir)/budget.ByteSteps) {
			return false
		}
		if _, err := g.FS.Lstat(dir); err == nil && (linked || g.isGuarded(dir)) {
			if g.matched++; g.matched > maxMatched {
				return false
			}
			yield(dir)
		}
		return true
	}
	entries, err := g.listDirectory(dir)
	if err != nil {
		return !errors.Is(err, errSpentGlob)
	}
	if !g.work.Spend(len(entries)) {
		return false
	}
	pattern := shell.Matchable(parts[0])
	if pattern == "**" && !g.walkParts(dir, parts[1:], linked, yield) {
		return false
	}
	startsWithDot := pattern[0] == '.'
	if last := len(parts) == 1; startsWithDot && !(last && pattern == ".*") { // which lists what is above in some shells only
		if ok, _ := path.Match(pattern, ".."); ok && !g.walkParts(g.Platform.Join(dir, ".."), parts[1:], true, yield) {
			return false
		}
	}
	for _, e := range entries {
		if g.Windows {
			if !shell.MatchesOnWindows(parts[0], e.Name()) {
				continue
			}
		} else if e.Name()[0] == '.' && !startsWithDot {
			continue
		} else if ok, _ := path.Match(pattern, e.Name()); !ok {
			continue
		}
		isLink, at := g.Platform.IsLink(e.Type()), g.Platform.Join(dir, e.Name())
		if len(parts) > 1 && !isLink && !e.IsDir() || len(parts) == 1 && !isLink && !linked && !g.isGuarded(at) {
			continue
		}
		if !g.walkParts(at, parts[1:], linked || isLink, yield) {
			return false
		}
	}
	return true
}

// isGuarded reports a path that is protected or in the directory of a rule, and a directory above one that would be deleted.
func (g *globber) isGuarded(p string) bool {
	return g.rules.MatchesArea(g.f.Role, p) || g.checker.isProtected(func(own string) bool {
		return g.Holds(own, p) || g.f.Role == access.Delete && g.Holds(p, own)
	})
}

// errSpentGlob means that a pattern matches more than the budget allows.
var errSpentGlob = errors.New("budget spent")

// listDirectory reads a directory once for each call.
func (j *judge) listDirectory(dir string) ([]fs.DirEntry, error) {
	if l, ok := j.lists[dir]; ok {
		return l, nil
	}
	if !j.work.Spend(budget.LookSteps) {
		return nil, errSpentGlob
	}
	entries, err := machine.ReadDir(j.FS, dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, errSpentGlob // it cannot be told
	}
	if err != nil {
		return nil, err // a shell cannot read it either
	}
	if !j.work.Spend(len(entries)) {
		return nil, errSpentGlob
	}
	if j.lists == nil {
		j.lists = make(map[string][]fs.DirEntry)
	}
	j.lists[dir] = entries
	return entries, nil
}
