// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"bytes"
	"testing"
)

// FuzzDecodeFrame decodes anything; only what was sealed is a frame.
func FuzzDecodeFrame(f *testing.F) {
	sealed := append(make([]byte, FrameHeadSize), "payload"...)
	sealFrame(sealed, 7, 123, 36)
	f.Add(sealed)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := decodeFrame(data, 7)
		if !ok {
			return
		}
		b := append(make([]byte, FrameHeadSize), got.payload...)
		sealFrame(b, 7, got.version, got.synced)
		if !bytes.HasPrefix(data, b) {
			t.Errorf("%x is a frame that nobody has sealed", data)
		}
	})
}
