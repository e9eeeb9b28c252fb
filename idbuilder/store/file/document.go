// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// documentFile is the contents of a document's file.
type documentFile struct {
	Key       string          `json:"key"`
	Type      string          `json:"id_type,omitempty"`
	Version   int64           `json:"version"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
	ExpiresAt *time.Time      `json:"expires_at,omitempty"`
	Value     json.RawMessage `json:"config"`
}

func encodeDocument(d store.Document) ([]byte, error) {
	f := documentFile{Key: d.Key, Type: d.Type, Version: d.Version, CreatedAt: d.Created, UpdatedAt: d.Updated, Value: d.Value}
	if !d.Expires.IsZero() {
		at := d.Expires.UTC()
		f.ExpiresAt = &at
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(f)
	return b.Bytes(), err
}

// decodeDocument reads the file of a key; with "" it takes the key from the file.
func decodeDocument(path, key string, data []byte) (d store.Document, err error) {
	var f documentFile
	err = json.Unmarshal(data, &f)
	d = store.Document{Key: f.Key, Type: f.Type, Value: f.Value, Version: f.Version, Created: f.CreatedAt, Updated: f.UpdatedAt}
	if err == nil {
		err = d.Validate()
	}
	switch {
	case err != nil:
	case f.Version < 1:
		err = fmt.Errorf("its version is %d", f.Version)
	case key != "" && f.Key != key:
		err = fmt.Errorf("it is of the key %q", f.Key)
	}
	if err != nil {
		return d, &store.CorruptError{Where: path, Reason: "this is not a document of the key " + key + "; " + wayOut, Err: err}
	}
	if f.ExpiresAt != nil {
		d.Expires = *f.ExpiresAt
	}
	return d, nil
}
