// Package ownership tells whose a file or folder is, and whether others may use it.
//
// On systems other than Unix neither shows in what is asked here: a folder in the
// user's own profile inherits its rights. There everything counts as the user's alone.
//
// Concurrency: it keeps nothing. But for [CheckPrivate], [CheckFolder], [MayMake] and [OthersReplace] it looks at no file itself: who asks has
// done that, and answers for what is put in its place meanwhile.
package ownership
