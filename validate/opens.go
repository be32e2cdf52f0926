package validate

import "mcphub/validate/policy"

// Policy tells what policy is in force, and what is protected; ok is false where there is none.
func (c *Checker) Policy() (info PolicyInfo, ok bool) {
	if c == nil {
		return info, false
	}
	info, ok = c.policy.Info()
	for i := range c.shielded {
		info.Protected = append(info.Protected, c.shielded[i].spellings...)
	}
	return info, ok
}

// Directories are those that one child is served beside the client's roots: see [policy.Compiled.Directories].
func (c *Checker) Directories(child string, grants []Grant) []policy.Directory {
	if c == nil {
		return nil
	}
	return c.policy.Directories(child, grants)
}

// Opens returns the directory that the policy opens to some call and in which a path lies in some reading; "" for none.
func (c *Checker) Opens(path string) string {
	if c == nil {
		return ""
	}
	return c.policy.Opens(path)
}

// Places are the directories beside the roots that servers may write in: the sandbox, and what the policy opens.
func (c *Checker) Places() []string {
	if c == nil {
		return nil
	}
	return c.policy.Places()
}
