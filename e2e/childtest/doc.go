// Package childtest gives tests children that behave as they are told to, and
// the suite that every children.Launcher passes.
//
// A test binary becomes the child: its TestMain calls [MainIfChild] first, and
// [Spec] describes a child that runs the same binary again with a [Script] in
// its environment. [Pipes] runs the same script inside the test's own process,
// so that time can be a synctest bubble's.
//
// A Script is obeyed by one goroutine that reads, plus one for each call, so
// that a child can ask its client something while a call is under way. The
// package refuses to judge: it holds no expectations but those of [Suite].
package childtest
