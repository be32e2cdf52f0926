// Package pattern reads the patterns that an operator may write instead of a directory:
// "~/work/*", "**", "{a,b}", in the language of doublestar.
//
// [Tail] reports which part of a path is a pattern, [Parse] reads it, [Pattern.Matches]
// looks it up below a directory, and [Pattern.MatchPrefix] tells by the text alone what of
// a path matches.
//
// Patterns are values. The package has no state and no goroutines. It does not follow
// links, does not judge what matches, and opens nothing. All that a pattern may cost is
// bounded, and one that goes beyond a bound matches nothing and reports why.
package pattern
