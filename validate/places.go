package validate

import "mcphub/rootsmgr"

// Places are the directories beside the roots that servers may write in: the
// sandbox, and what the policy opens.
func (c *Checker) Places() []string {
	if c == nil || c.policy == nil {
		return nil
	}
	var out []string
	if s := c.policy.sandbox; s != nil {
		out = append(out, s.path)
	}
	for dir := range c.policy.dirs {
		out = append(out, dir)
	}
	return out
}

// Refused are the paths of a call that was not allowed, as they stand and where
// they lead.
func (v *Verdict) Refused() []string {
	var out []string
	for i := range v.Findings {
		if v.Findings[i].Decision != Allow {
			out = append(out, v.Findings[i].paths()...)
		}
	}
	return out
}

// whyNot is what the view says to the finding that denied the call.
func (f *Judged) whyNot(view rootsmgr.View) string { return view.WhyNot(f.paths()...) }

func (f *Judged) paths() []string {
	out := make([]string, 0, 2*len(f.Readings))
	for i := range f.Readings {
		if r := &f.Readings[i]; r.Code != CodeInside {
			for _, p := range []string{r.Path, r.Leads} {
				if p != "" {
					out = append(out, p)
				}
			}
		}
	}
	return out
}
