// SPDX-License-Identifier: Apache-2.0

// Package watch tells when source files of Go packages change. Events of the file
// system only wake it: what changed it learns from the content of the files, so it
// makes no difference how an editor writes them, and lost events of one file do not
// matter if any other event comes. It imports no other phase.
//
//	w, err := watch.New(0)
//	before, err := w.State(scope) // and from now on any change ends Wait
//	err = w.Wait(ctx)
//	after, err := w.State(scope)
//	changed := !maps.Equal(before, after)
package watch
