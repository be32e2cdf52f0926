package confinement

import (
	"os"
	"path/filepath"
	"strings"

	"mcphub/children/gitconfig"
	"mcphub/children/sandbox"
	"mcphub/internal/wellknown"
)

// This file opens the repositories that roots are worktrees and submodules of. What says so
// lies in the root, where servers write: it counts only if the repository, which lies
// elsewhere, names the root back.

// repositoryRules returns the rules of the repositories of the session's roots.
func (h Host) repositoryRules(k *wellknown.Server) (rules []sandbox.Rule) {
	for _, root := range h.boundary.Roots {
		rules = append(rules, h.repositoryOf(root, true)...)
		if k == nil || !k.Kernel.Repository {
			continue
		}
		for at := filepath.Dir(root); h.isNarrow(at); at = filepath.Dir(at) {
			git := filepath.Join(at, ".git")
			if fi, err := os.Lstat(git); err == nil && fi.IsDir() && isRepository(git) {
				rules = append(rules, h.readRule(git)...)
			} else if err == nil {
				rules = append(rules, h.repositoryOf(at, false)...)
			} else {
				continue
			}
			break
		}
	}
	return rules
}

func (h Host) readRule(dir string) []sandbox.Rule { return h.folderRule(dir, runs) }

// folderRule returns a rule for a folder that is there, and lies in nothing that stays closed.
func (h Host) folderRule(dir string, a sandbox.Access) []sandbox.Rule {
	w := h.wayOf(dir)
	if w.end == nil || !w.end.IsDir() || w.real != dir || !h.inBoundary(&w) || h.reservedPlaces(nil).Why(dir) != "" || !h.isNarrow(dir) {
		return nil
	}
	return []sandbox.Rule{{Path: dir, Access: a}}
}

// repositoryOf returns the rules of the repository that a folder is a worktree or a
// submodule of. None of it is written that git runs or obeys.
func (h Host) repositoryOf(top string, write bool) []sandbox.Rule {
	link := filepath.Join(top, ".git")
	own, ok := gitPath(link, "gitdir: ")
	if !ok {
		return nil
	}
	own, err := filepath.EvalSymlinks(own)
	if err != nil || sandbox.Contains(top, own) {
		return nil
	}
	common := own
	if back, ok := gitPath(filepath.Join(own, "gitdir"), ""); ok { // a worktree
		common, ok = gitPath(filepath.Join(own, "commondir"), "")
		if common, err = filepath.EvalSymlinks(common); !ok || err != nil || filepath.Dir(own) != filepath.Join(common, "worktrees") || !sameFile(back, link) {
			return nil
		}
	} else if back := worktreeOf(own); back == "" || !sameFolder(back, top) { // a submodule
		return nil
	}
	if !isRepository(common) {
		return nil
	}
	rules := h.readRule(common)
	if rules == nil || !write {
		return rules
	}
	for _, name := range []string{"objects", "refs", "logs"} {
		rules = append(rules, h.folderRule(filepath.Join(common, name), sandbox.Read|sandbox.Write)...)
	}
	if own != common {
		rules = append(rules, h.folderRule(own, sandbox.Read|sandbox.Write)...)
	}
	return rules
}

// isRepository reports whether a folder has what every repository has.
func isRepository(dir string) bool {
	return isFile(filepath.Join(dir, "HEAD")) && sandbox.IsDir(filepath.Join(dir, "objects")) && sandbox.IsDir(filepath.Join(dir, "refs"))
}

// gitPath returns the path that is the text of a small file, behind a word; relative
// to the file's folder.
func gitPath(file, word string) (path string, ok bool) {
	if fi, err := os.Lstat(file); err != nil || !fi.Mode().IsRegular() {
		return "", false // no link either
	}
	text := textOf(file)
	if text, ok = strings.CutPrefix(strings.TrimRight(text, "\r\n"), word); !ok || text == "" || strings.ContainsAny(text, "\n\x00") {
		return "", false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(filepath.Dir(file), text)
	}
	return filepath.Clean(text), true
}

// worktreeOf returns the folder of core.worktree of a repository's config, as git writes it for a submodule.
func worktreeOf(dir string) (folder string) {
	lines, _, _ := gitconfig.Parse([]byte(textOf(filepath.Join(dir, "config"))))
	for _, l := range lines {
		if l.Name() == "core.worktree" && !l.HasSub {
			folder = l.Value // the last one counts, as for git
		}
	}
	if folder != "" && !filepath.IsAbs(folder) {
		folder = filepath.Join(dir, folder)
	}
	return folder
}

func sameFile(a, b string) bool {
	fa, errA := os.Lstat(a)
	fb, errB := os.Lstat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}

func sameFolder(a, b string) bool {
	real, err := filepath.EvalSymlinks(a)
	return err == nil && real == b
}
