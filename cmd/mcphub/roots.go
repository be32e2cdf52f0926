package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

type rootsFlags struct {
	roots    []string
	count    bool
	contains string
	why      string
	asJSON   bool

	asked, explained bool // --contains, --why were given, be it with nothing
}

func rootsCommand() *cobra.Command {
	src := newSource()
	var f rootsFlags
	cmd := &cobra.Command{
		Use:   "roots",
		Short: "List the roots in scope, or ask whether a path lies in one",
		Long: "Lists the directories and files that would be in scope. They come from --root, as from a client;\n" +
			"else, in a program that the hub has started, from the roots that it was given\n" +
			"(MCP_ROOTS_PATHS); else from the fallbacks: --roots, MCPHUB_ROOTS, roots.fallback in\n" +
			"hub.json, MCPHUB_PROJECT_ROOT.",
		Example: "  mcphub roots --root . --contains ../x || echo outside\n  mcphub roots --why notes/link.txt --root .",
		RunE: func(cmd *cobra.Command, _ []string) error {
			snap, err := rootsWithoutClient(src, f.roots)
			if err != nil {
				return err
			}
			f.asked = cmd.Flags().Changed("contains")
			f.explained = cmd.Flags().Changed("why")
			return f.printRoots(cmd.OutOrStdout(), snap)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.roots, "root", nil, "a directory in scope, as a client's root; may be repeated")
	flags.BoolVar(&f.count, "count", false, "print how many there are")
	flags.StringVar(&f.contains, "contains", "", "exit with 0 if every reading of this path lies in a root, else with 1")
	flags.StringVar(&f.why, "why", "", "say where this path leads, and which root contains it")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("count", "contains", "why")
	configFlags(cmd, src)
	return cmd
}

// rootsWithoutClient returns the roots that would hold without a client.
func rootsWithoutClient(src *setup.Source, given []string) (*rootsmgr.Snapshot, error) {
	if len(given) > 0 {
		paths, err := givenRoots(given)
		return askedRoots(paths), err
	}
	if served, ok, err := servedRoots(); err != nil || ok {
		return newRoots(rootsmgr.OriginEnvironment, served), err
	}
	return src.FallbackRoots(stderr, zerolog.New(stderr))
}

// servedRoots reads what the hub tells a child in its environment.
func servedRoots() (paths []string, ok bool, err error) {
	if text, ok := os.LookupEnv("MCP_ROOTS_PATHS"); ok {
		return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), true, nil
	}
	name, ok := os.LookupEnv("MCP_ROOTS_FILE")
	if !ok {
		return nil, false, nil
	}
	raw, err := os.ReadFile(name)
	var roots []struct{ Path string }
	if err == nil {
		err = json.Unmarshal(raw, &roots)
	}
	if err != nil {
		return nil, false, fmt.Errorf("MCP_ROOTS_FILE: %w", err)
	}
	for _, r := range roots {
		paths = append(paths, r.Path)
	}
	return paths, true, nil
}

func (f *rootsFlags) printRoots(w io.Writer, snap *rootsmgr.Snapshot) error {
	switch {
	case f.count:
		layout.Println(w, snap.Len())
		return nil
	case f.asked:
		if _, err := checkPath(snap, f.contains); err != nil {
			return &exit.Error{Code: exit.Failure}
		}
		return nil
	case f.explained:
		return f.explainRoots(w, snap)
	case f.asJSON:
		return layout.JSON(w, map[string]any{"origin": snap.Origin().String(), "roots": rootsJSON(snap), "skipped": skippedJSON(snap)})
	}
	for _, r := range snap.Roots() {
		file := ""
		if r.File {
			file = "  (a single file)"
		}
		layout.Printf(w, "%s%s%s%s\n", r.Path, file, layout.WithPrefix("  ", r.Name), layout.WithPrefix("  !", r.Flag))
	}
	for _, sk := range snap.Skipped() {
		layout.Printf(stderr, "left out: %q: %s\n", sk.Raw, sk.Reason)
	}
	if snap.Len() == 0 {
		layout.Println(stderr, "Nothing is in scope but what a client gives as its roots. For clients that give none start mcphub with --roots DIR, or set MCPHUB_ROOTS or roots.fallback in hub.json.")
	}
	return nil
}

func rootsJSON(snap *rootsmgr.Snapshot) []map[string]any {
	out := []map[string]any{}
	for _, r := range snap.Roots() {
		out = append(out, map[string]any{"uri": r.URI, "name": r.Name, "path": r.Path, "given": r.Given, "file": r.File, "redundant": r.Redundant, "flag": r.Flag})
	}
	return out
}

func skippedJSON(snap *rootsmgr.Snapshot) []map[string]any {
	out := []map[string]any{}
	for _, sk := range snap.Skipped() {
		out = append(out, map[string]any{"raw": sk.Raw, "name": sk.Name, "reason": sk.Reason})
	}
	return out
}

// checkPath judges one path as an argument of a call would be, from the
// working directory.
func checkPath(snap *rootsmgr.Snapshot, path string) (guard.Place, error) {
	if path == "" {
		return guard.Place{}, errors.New("the path is empty")
	}
	if platform.IsFileURI(path) {
		p, err := platform.Host().ParseURI(path)
		if err != nil {
			return guard.Place{}, err
		}
		path = p
	}
	if !filepath.IsAbs(path) {
		dir, err := os.Getwd()
		if err != nil {
			return guard.Place{}, err
		}
		path = dir + string(filepath.Separator) + path // not joined: that would clean it
	}
	return snap.Guard().Check(path)
}

func (f *rootsFlags) explainRoots(w io.Writer, snap *rootsmgr.Snapshot) error {
	place, err := checkPath(snap, f.why)
	var escape *guard.EscapeError
	if err != nil && !errors.As(err, &escape) {
		if e := writeResult(w, f.asJSON, map[string]any{"path": f.why, "inside": false, "error": err.Error()}, func(io.Writer) {
			layout.Printf(w, "%q cannot be resolved, so it is refused: %s\n", f.why, err)
		}); e != nil {
			return e
		}
		return &exit.Error{Code: exit.Failure}
	}
	found := map[string]any{
		"path": f.why, "inside": err == nil, "leads": place.Path, "exists": place.Exists, "root": place.Root.Path,
		"lexical": place.Readings.Lexical, "physical": place.Readings.Physical, "cleaned": place.Readings.Cleaned,
	}
	if e := writeResult(w, f.asJSON, found, func(io.Writer) {
		layout.Printf(w, "%q\n  as text               %s\n  as the kernel follows %s\n  cleaned, then followed %s\n", f.why, place.Readings.Lexical, place.Readings.Physical, place.Readings.Cleaned)
		if err == nil {
			layout.Printf(w, "  inside %s (%s)\n", place.Root.Path, snap.Origin())
		} else {
			layout.Printf(w, "  outside: %s\n", err)
		}
	}); e != nil {
		return e
	}
	if err != nil {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}
