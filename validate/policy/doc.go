// Package policy holds the rules that decide calls differently from the boundary. It compiles them, finds the ones that are
// about a tool, and applies them to the candidates of a finding.
//
// A candidate is an absolute path that a finding may stand for. It has three readings: as written, as the kernel follows
// it, and cleaned and then followed. Rules stand in order. A finding takes the first rule that matches it. A call without
// findings takes the first rule without a condition on paths. A rule that denies or escalates matches if any reading of any
// candidate does. A rule that allows matches if all readings of all candidates do.
//
//   - What is protected, outside a token's ceiling, or cannot be resolved is denied before any rule is asked.
//   - A rule that escalates may match only some candidates. The others are then decided without it. If they are denied, so
//     is the finding. So no [Grant] lifts a denial, and no one is asked in vain.
//   - If no rule matches, each candidate must be inside the boundary or matched by some rule that allows.
//   - A rule that denies or escalates also matches when a directory above its own is deleted or moved.
//
// A rule's directory is looked up when the policy is read, as a root is. All are compared through one index, and the rules of a tool are
// kept by their directories: what a path costs depends on its depth, and not on the number of rules. Rules that deny
// or escalate look again at each call if their directory did not exist then, with one look for all that are below one directory.
//
// A [Compiled] policy and a [Ruling] are immutable and safe for concurrent use; an [Evaluation] belongs to one goroutine. The zero
// Decision and the zero Rule deny, and the zero Grant opens nothing.
package policy
