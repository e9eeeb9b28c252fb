// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

// SetFewReaders changes from how many functions of ReadTransact on those of
// databases that are opened from then on share transactions, and returns what
// undoes that.
func SetFewReaders(n int64) (undo func()) {
	before := fewReaders
	fewReaders = n
	return func() { fewReaders = before }
}
