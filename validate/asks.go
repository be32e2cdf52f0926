package validate

import (
	"slices"

	"mcphub/rootsmgr"
)

// This file says which readings of a path a human would have to allow.

// asked tells of each unit whether decide asks about it: a rule that escalates is the first to match it, of those that
// are left when it is its turn, and no grant covers it.
func (j *judge) asked(units []unitKind) []bool {
	asks := make([]bool, len(units))
	left := make([]int, 0, len(units))
	for k := range units {
		left = append(left, k)
	}
	for i, at := range j.ruling.rules {
		hits := func(k int) bool { return units[k].hits[i] }
		if !slices.ContainsFunc(left, hits) {
			continue
		}
		switch j.c.policy.rules[at].Then {
		case Allow:
			if !slices.ContainsFunc(left, func(k int) bool { return !hits(k) }) {
				return asks
			}
		case Escalate:
			for _, k := range left {
				asks[k] = hits(k) && !units[k].granted
			}
			if left = slices.DeleteFunc(left, hits); len(left) == 0 {
				return asks
			}
		default:
			return asks
		}
	}
	return asks
}

// mark notes on the readings of a finding which of them are asked about. They are looked up again: only what escalates
// needs it. One that matches other rules than a moment ago is not asked about, and so not opened.
func (j *judge) mark(out *Judged) {
	asks := j.asked(out.tally.kinds)
	for i := range out.Readings {
		r := &out.Readings[i]
		if r.Path == "" {
			continue
		}
		place, err := rootsmgr.Resolve(j.c.fs, r.Path)
		if err != nil {
			continue
		}
		u := unit{place: place, known: true}
		facts := j.facts(&place)
		j.compare(out, &u, &facts)
		granted := j.granted(out.Role, &place)
		k := slices.IndexFunc(out.tally.kinds, func(k unitKind) bool { return k.granted == granted && slices.Equal(k.hits, j.hits) })
		if r.Asks = k >= 0 && asks[k]; r.Asks {
			r.Leads = place.Path // and not its text, which is what leads out where that is the first reading to
		}
	}
}
