// SPDX-License-Identifier: Apache-2.0

package host

import "encoding/json"

// Codec encodes arguments and results. Calls within a process use it, too, so
// that an activation never shares memory with its callers. All processes of a cluster use
// the same. It is safe for concurrent use.
type Codec interface {
	// Name tells it from other codecs: a request in another one is refused.
	Name() string
	// Marshal encodes a value.
	Marshal(value any) ([]byte, error)
	// Unmarshal decodes into what value points to. It does not keep data.
	Unmarshal(data []byte, value any) error
}

// JSON is the default [Codec]: encoding/json.
type JSON struct{}

// Name implements [Codec].
func (JSON) Name() string { return "json" }

// Marshal implements [Codec].
func (JSON) Marshal(value any) ([]byte, error) { return json.Marshal(value) }

// Unmarshal implements [Codec].
func (JSON) Unmarshal(data []byte, value any) error { return json.Unmarshal(data, value) }
