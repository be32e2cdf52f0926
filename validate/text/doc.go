// Package text cuts strings into the words that may name something. It knows no path, no machine and no tool: it finds the place at which a
// word may begin and end, in a text of any language, in a joined list, and in the headers of a patch. What a word means is for
// detect.
//
// It knows no statements, verbs or dialects. A word may begin behind any sign that separates words in some language, so a text is
// cut in more ways than one, and words overlap. Words are yielded in the order of the text.
//
// The package has no state. What it spends of a call's budget is what the caller's [budget.Budget] allows: when that is spent,
// cutting ends early, and the caller refuses the call. It never reports an error and refuses nothing by itself.
package text
