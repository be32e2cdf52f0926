package validate

import (
	"strings"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/shell"
)

// patterns judges what a value stands for as a glob: its alternatives, written out.
func (d *detector) patterns(id int32, s string, p place, member bool) {
	if chars.HasBlank(s) || !strings.ContainsAny(s, `[{(\`) || d.m.Windows {
		return
	}
	if !d.work.Spend(2*len(s)/budget.ByteSteps + budget.FindSteps) {
		return
	}
	alternatives, ok := shell.WrittenOut(s)
	if !ok {
		if chars.Climbs(s) || strings.Contains(s, "{/") || strings.Contains(s, ",/") || s[0] == '/' {
			d.add(Finding{Value: s, How: HowClimbs, Member: member, node: id}, p)
		}
		return
	}
	for _, alt := range alternatives {
		if alt = shell.PlainText(alt); alt == s || alt == "" {
			continue
		}
		if how, ok := d.broadly(alt); ok {
			d.add(Finding{Value: alt, How: how, Member: member, node: id}, p)
		}
		if fixed := shell.FixedPrefix(alt); strings.IndexByte(fixed, '/') > 0 {
			d.link(id, fixed, p, member)
		}
	}
}
