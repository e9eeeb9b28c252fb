// SPDX-License-Identifier: Apache-2.0

// Package blobs has a type with blobs, for tests and examples.
package blobs

import "github.com/kazahana-db/kazahana/persistable"

// Page is a page of a book.
type Page struct {
	_ persistable.Type      `persist:"Page"`
	_ persistable.Directory `persist:"books/{Book}/pages,layer=partition"`

	ID    int64
	Book  string
	Title string

	Scan  persistable.Blob // a picture of the page
	Audio persistable.Blob // the page, read aloud
}
