package vfork

const prlimit = 302 // prlimit64
