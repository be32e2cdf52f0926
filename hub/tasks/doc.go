// Package tasks routes requests and notifications about tasks to the one who
// made the task (2025-11-25, basic/utilities/tasks, and the extension of
// 2026-07-28).
//
// A [Table] has the tasks of one session: the ones that children made for its
// client, and the ones that its client made for children. The ids stay as their
// makers gave them, for they stand in many places.
//
// # Ownership
//
// A Table belongs to one session. Its mutex is a leaf; its methods may be called
// from any goroutine. A task of a child holds a lease of that child, and the
// route of its progress, until it has ended, was forgotten, or an hour is over.
//
// # What it refuses to do
//
// It shows no session and no child a task of another one. It keeps no more than
// 1024 tasks of one child, and no id of more than 1 KiB. It judges nothing: a
// request about a task carries nothing that a policy looks at.
package tasks
