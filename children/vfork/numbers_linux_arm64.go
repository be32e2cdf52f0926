package vfork

const prlimit = 261 // prlimit64
