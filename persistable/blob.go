// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"

	"github.com/kazahana-db/kazahana/internal/persistable/format"
)

// Blob is a field of a record that refers to a content of any size: a picture, a document, a video.
// The record has only the reference, of some 60 bytes; the content is stored in chunks in the directory
// of the store, and is written and read as a stream by [Blobs].
//
//	type Order struct {
//		…
//		Photo persistable.Blob
//	}
//
//	w := persistable.BlobsOf(orders).New(ctx)
//	if _, err := io.Copy(w, file); err != nil {
//		return err
//	}
//	if order.Photo, err = w.Commit(); err != nil {
//		return err
//	}
//	err = orders.Save(ctx, order) // attaches the content to the order
//
// A content belongs to one record. The transaction that writes the record attaches the content, and
// removes the one that the field had before; the one that deletes the record removes its contents. The
// zero Blob stands for no content: a record that is saved with it loses what it had.
//
// A field of type Blob is one of the record itself, or of a struct that it embeds. It has no index.
type Blob format.Blob

// IsZero reports whether the field has no content. A content without bytes is not zero.
func (b Blob) IsZero() bool { return b == Blob{} }

// String returns the text of MarshalText.
func (b Blob) String() string { return format.Blob(b).String() }

// MarshalText implements [encoding.TextMarshaler]: ID-SIZE-SHA256, each but the size in hexadecimal
// digits; nothing for the zero Blob. It is the reference without the content.
func (b Blob) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *Blob) UnmarshalText(text []byte) error {
	read, err := format.ParseBlobText(string(text))
	if err != nil {
		return fmt.Errorf("persistable: blob: %w", err)
	}
	*b = Blob(read)
	return nil
}

// MarshalBinary implements [encoding.BinaryMarshaler], for generated code.
func (b Blob) MarshalBinary() ([]byte, error) { return format.Blob(b).Append(nil), nil }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler].
func (b *Blob) UnmarshalBinary(stored []byte) error {
	read, err := format.ParseBlob(stored)
	if err != nil {
		return fmt.Errorf("persistable: blob: %w", err)
	}
	*b = Blob(read)
	return nil
}
