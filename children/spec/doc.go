// Package spec describes what child servers there are to run, and which instances of them.
//
// A [Spec] is what the configuration says about one server: how it is started or reached, how
// it is told about roots, who shares it, and its limits. A [Key] names one instance of it.
// [Spec.Plan] computes how an instance starts with given roots. [Spec.Digest] names what it
// would offer, so that what it offered last can be remembered. [Spec.VariantDigest] reports
// what one entry means in different environments, and [Apart] names what makes the
// difference.
//
// All of it is values: the package has no state and no goroutines, and may be used
// from anywhere. It starts nothing. It reads the file system only to find the program
// of a Spec. Nothing secret can be read out of a digest.
package spec
