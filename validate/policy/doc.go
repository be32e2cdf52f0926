// Package policy holds the rules by which calls are decided otherwise than by the boundary. It compiles them, finds those
// that are about a tool, and applies them to the candidates of a finding.
//
// Rules stand in order. A finding takes the first that matches it, a call without any the first rule that asks nothing of
// paths. Rules are asked about candidates: the absolute paths that a finding may stand for, each with its three readings
// (as written, as the kernel follows it, cleaned and then followed). One that denies or escalates matches where any
// reading of any candidate does, one that allows where all of all do.
//
//   - What is protected, outside a token's ceiling or cannot be resolved is denied before any rule.
//   - What a rule that escalates does not match is decided without it, and where that is denied so is the finding. So no
//     [Grant] lifts a denial, and nobody is asked in vain.
//   - Where no rule matches, each candidate has to be inside the boundary or what some rule allows.
//   - Deleting or moving a directory that holds that of a rule which denies or escalates counts as touching it.
//
// A rule's directory is looked up when the policy is read, as a root is, and compared by the same index: twenty rules cost
// one look. One that was not there then is looked up again at each call by rules that deny or escalate.
//
// A [Compiled] policy and a [Ruling] are immutable and may be used by any number of goroutines; a [Call] belongs to one. The
// zero Decision and the zero Rule deny, and the zero Grant opens nothing.
package policy
