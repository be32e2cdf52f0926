package rootstest

import "testing"

// Secret is what every file outside the root of [AttackTree] holds.
const Secret = "SECRET"

// AttackTree makes a root "r", its looks-alike neighbours, and links of every kind.
func AttackTree(t testing.TB) string {
	const secret = "=" + Secret
	return Tree(t,
		"r/a/b/c=inside", "r/f=inside", "r/sp ace=inside",
		"r2/s"+secret, "r /s"+secret, "R/s"+secret, "r./s"+secret, "out/s"+secret, "out/deep/s"+secret, "s"+secret,
		"r/out => ../out",
		"r/outabs => $/out",
		"r/file => ../out/s",
		"r/chain1 => chain2", "r/chain2 => a/chain3", "r/a/chain3 => ../../out",
		"r/deep => ../out/deep",
		"r/dangling => ../out/new",
		"r/danglingdeep => ../out/nodir/new",
		"r/danglingmid => ../nowhere",
		"r/self => self", "r/loop1 => loop2", "r/loop2 => loop1",
		"r/up => ..",
		"r/top => /",
		"r/in => a/b", "r/inabs => $/r/a", "r/newin => a/new",
		"r/back => ../out/back", "out/back => ../r/a",
		"alias => r",
	)
}
