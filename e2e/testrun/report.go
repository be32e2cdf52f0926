package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"mcphub/e2e/needs"
	"mcphub/internal/lazyregexp"
)

// event is what go test -json writes (go doc test2json, go help buildjson).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// said is a line of output, and the test that wrote it; "" is the package itself.
type said struct{ test, text string }

// ended is a test that has ended.
type ended struct {
	pkg, test, reason string
	seconds           float64
}

// printedName returns how a test is printed.
func (e ended) printedName() string { return e.pkg + " " + e.test }

// hasLacked reports whether e2e/needs skipped the test.
func (e ended) hasLacked() bool { return strings.HasPrefix(e.reason, needs.Unproved) }

// suite is a package of tests that has not ended.
type suite struct {
	out   []said
	quiet map[string]bool // tests whose output tells nothing: they passed or were skipped
}

type report struct {
	w           io.Writer
	suites      map[string]*suite // by package
	skips, ends []ended           // ends has the tests of the top level that ran
	passed      map[string]bool   // by package and test
	ran, failed int
}

func newReport(w io.Writer) *report {
	return &report{w: w, suites: map[string]*suite{}, passed: map[string]bool{}}
}

// readEvents takes the events of go test until it ends. A line that is no event is printed as it is.
func (r *report) readEvents(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.takeEvent(e)
			} else {
				_, _ = r.w.Write(line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (r *report) takeEvent(e event) {
	if e.Action == "build-output" { // before the packages that it fails
		r.printText(e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	s := r.suites[e.Package]
	if s == nil {
		s = &suite{quiet: map[string]bool{}}
		r.suites[e.Package] = s
	}
	end := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
	switch {
	case e.Action == "output":
		s.out = append(s.out, said{e.Test, e.Output})
	case end && e.Test == "":
		r.endSuite(s, e)
	case end:
		r.endTest(s, e)
	}
}

func (r *report) endTest(s *suite, e event) {
	t := ended{pkg: e.Package, test: e.Test, seconds: e.Elapsed}
	s.quiet[e.Test] = e.Action != "fail"
	if e.Action == "skip" {
		t.reason = s.skipReason(e.Test)
		r.skips = append(r.skips, t)
		return
	}
	if e.Action == "fail" {
		r.failed++
	}
	r.passed[t.printedName()] = e.Action == "pass"
	r.ran++
	if !strings.Contains(e.Test, "/") {
		r.ends = append(r.ends, t)
	}
}

// endSuite prints what is to be known of a package.
func (r *report) endSuite(s *suite, e event) {
	delete(r.suites, e.Package)
	switch e.Action {
	case "skip": // it has no tests
	case "pass":
		cached := ""
		if slices.ContainsFunc(s.out, func(l said) bool { return l.test == "" && strings.HasSuffix(l.text, "\t(cached)\n") }) {
			cached = " (cached)"
		}
		r.printText(fmt.Sprintf("ok   %7.1f s  %s%s\n", e.Elapsed, e.Package, cached))
	default:
		r.failed++
		s.printOutput(r)
		r.printText(fmt.Sprintf("FAIL %7.1f s  %s\n", e.Elapsed, e.Package))
	}
}

// printOutput prints what all but the quiet tests wrote.
func (s *suite) printOutput(r *report) {
	for _, l := range s.out {
		if !s.quiet[l.test] {
			r.printText(l.text)
		}
	}
}

var (
	frame = lazyregexp.New(`^\s*(=== |--- )`)
	place = lazyregexp.New(`^\s*[\w./-]+\.go:\d+: `)
)

// skipReason returns what a skipped test said of itself by e2e/needs, else the last thing that it said: a script prints its log behind.
func (s *suite) skipReason(test string) (why string) {
	for _, l := range s.out {
		if l.test == test && !frame.MatchString(l.text) {
			why = strings.TrimSpace(place.ReplaceAllString(l.text, ""))
			if at := strings.Index(why, needs.Unproved); at >= 0 { // output that ends in no newline stands before it
				return why[at:]
			}
		}
	}
	return cmp.Or(why, "no reason was given")
}

const mostSlow = 20

// printEnd prints packages that never ended, the tests that were skipped, and the slowest.
func (r *report) printEnd() {
	for _, name := range slices.Sorted(maps.Keys(r.suites)) {
		r.failed++
		r.suites[name].printOutput(r)
		r.printText("FAIL  no end   " + name + "\n")
	}
	slices.SortFunc(r.skips, func(a, b ended) int {
		return cmp.Or(cmp.Compare(a.reason, b.reason), cmp.Compare(a.printedName(), b.printedName()))
	})
	if len(r.skips) > 0 {
		r.printText(fmt.Sprintf("\n%d tests were skipped:\n", len(r.skips)))
	}
	last := ""
	for _, t := range r.skips {
		if t.reason != last {
			r.printText("  " + t.reason + "\n")
			last = t.reason
		}
		r.printText("    " + t.printedName() + "\n")
	}
	slices.SortFunc(r.ends, func(a, b ended) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.printedName(), b.printedName()))
	})
	if len(r.ends) > 0 {
		r.printText("\nthe slowest tests:\n")
	}
	for _, t := range r.ends[:min(mostSlow, len(r.ends))] {
		r.printText(fmt.Sprintf("  %7.1f s  %s\n", t.seconds, t.printedName()))
	}
}

// proveLines has the run fail if one of such lines did not run, or if a test lacked something.
func (r *report) proveLines(lines []string) {
	for _, line := range lines {
		if !r.passed[line] {
			r.failed++
			r.printText("FAIL  " + line + ": did not pass\n")
		}
	}
	for _, t := range r.skips {
		if t.hasLacked() {
			r.failed++
			r.printText("FAIL  " + t.printedName() + ": " + t.reason + "\n")
		}
	}
}

// missedLines gives the tests that lacked something, a package and a test a line.
func (r *report) missedLines() (lines string) {
	for _, t := range r.skips {
		if t.hasLacked() {
			lines += t.printedName() + "\n"
		}
	}
	return lines
}

// rerunArgs gives the arguments of go test that run the tests of such lines. Of a test that lacked something in some of its subtests these run
// alone: the others have passed. So a test that judges its subtests together judges the ones that ran.
func rerunArgs(lines []string) []string {
	tests, pkgs := map[string]bool{}, map[string]bool{}
	for _, line := range lines {
		pkg, test, _ := strings.Cut(line, " ")
		var levels []string
		for level := range strings.SplitSeq(test, "/") {
			levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
		}
		tests[strings.Join(levels, "/")], pkgs[pkg] = true, true
	}
	return append([]string{"-run=" + strings.Join(slices.Sorted(maps.Keys(tests)), "|")}, slices.Sorted(maps.Keys(pkgs))...)
}

func (r *report) printText(text string) { _, _ = io.WriteString(r.w, text) }
