// SPDX-License-Identifier: Apache-2.0

// Package before is the type of package blobs before it had blobs.
package before

import "github.com/kazahana-db/kazahana/persistable"

// Page is a page of a book.
type Page struct {
	_ persistable.Type      `persist:"Page"`
	_ persistable.Directory `persist:"books/{Book}/pages,layer=partition"`

	ID    int64
	Book  string
	Title string
}
