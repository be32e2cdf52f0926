package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/audit/trail"
	"mcphub/hub/status"
	"mcphub/internal/printable"
)

// This file shows a hub of many sessions: by sums, or as far as it is asked for.

const (
	maxListed = 50 // sessions, or instances of servers, that status lists one by one
	maxSums   = 20 // lines of one kind of sums
)

// A sessionFilter picks sessions of a report. The zero value picks all.
type sessionFilter struct {
	principal string // a name, or a pattern of names
	session   string // the beginning of an id
}

func (f *sessionFilter) isSet() bool { return *f != sessionFilter{} }

// narrow leaves in a report the sessions that are picked, and the servers that serve them or all.
func (f *sessionFilter) narrow(r *admin.Report) {
	if !f.isSet() {
		return
	}
	picked, others := map[string]bool{}, map[string]bool{}
	r.Sessions = slices.DeleteFunc(slices.Clone(r.Sessions), func(s status.Session) bool {
		ok := strings.HasPrefix(s.ID, f.session) && trail.MatchesName(f.principal, s.Principal)
		if ok {
			picked[s.ID] = true
		} else {
			others[s.ID] = true
		}
		return !ok
	})
	r.Children = slices.DeleteFunc(slices.Clone(r.Children), func(c status.Child) bool {
		served := slices.ContainsFunc(c.Sessions, func(id string) bool { return picked[id] })
		return others[c.Instance] || len(c.Sessions) > 0 && !served
	})
}

// showSums shows the sessions of a hub by principal and by client.
func (p page) showSums(all []status.Session) {
	p.printf("\n%d sessions (mcphub status --principal NAME, or --session ID, shows each)\n", len(all))
	p.sumSessions("PRINCIPAL", all, func(s *status.Session) string { return s.Principal })
	p.sumSessions("CLIENT", all, func(s *status.Session) string { return s.Client })
}

// A sum is of what has one name.
type sum struct {
	name       string
	n, now     int
	calls      uint64
	well, runs int
	restarts   int
}

// addTo returns the sum of a name, and makes it if there is none.
func addTo(sums map[string]*sum, name string) *sum {
	if sums[name] == nil {
		sums[name] = &sum{name: name}
	}
	sums[name].n++
	return sums[name]
}

// largest returns sums, the largest first, and how many there are beyond maxSums.
func largest(sums map[string]*sum) (first []*sum, more int) {
	all := slices.SortedFunc(maps.Values(sums), func(a, b *sum) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	n := min(len(all), maxSums)
	return all[:n], len(all) - n
}

func (p page) sumSessions(head string, all []status.Session, name func(*status.Session) string) {
	sums := map[string]*sum{}
	for i := range all {
		s := addTo(sums, name(&all[i]))
		s.now += all[i].Calls
		s.calls += all[i].Passed
	}
	layout.Println(p.w)
	t := layout.NewTable(p.w)
	t.Head(head, "SESSIONS", "CALLS")
	first, more := largest(sums)
	for _, s := range first {
		t.Row(cmp.Or(printable.Escape(s.name, 60), "-"), strconv.Itoa(s.n), countCalls(s.calls, s.now))
	}
	_ = t.Flush()
	p.tellMore(more)
}

// sumChildren shows the instances of the servers by server.
func (p page) sumChildren(all []status.Child) {
	sums := map[string]*sum{}
	for _, c := range all {
		s := addTo(sums, c.Server)
		s.restarts += c.Restarts
		if c.PID > 0 {
			s.runs++
		}
		if !isUnwell(c) {
			s.well++
		}
	}
	t := layout.NewTable(p.w)
	t.Head("SERVER", "INSTANCES", "PROCESSES", "UNWELL", "RESTARTS")
	first, more := largest(sums)
	for _, s := range first {
		t.Row(printable.Escape(s.name, 40), strconv.Itoa(s.n), strconv.Itoa(s.runs), strconv.Itoa(s.n-s.well), strconv.Itoa(s.restarts))
	}
	_ = t.Flush()
	p.tellMore(more)
}

func (p page) tellMore(n int) {
	if n > 0 {
		p.printf("and %d more: mcphub status --json names each\n", n)
	}
}
