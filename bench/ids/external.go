// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/idgen/external"
)

// external64 encodes and decodes external IDs.
var external64 = measure.Stage{Name: "external", Open: func(string) (*measure.Set, error) {
	var encoders, decoders []measure.Entrant
	for _, opts := range []external.Options{
		{Mode: external.Keyed, Keys: map[int][]byte{0: make([]byte, 16)}},
		{Mode: external.Keyed, Keys: map[int][]byte{0: make([]byte, 16)}, Cipher: external.XTEA},
		{Mode: external.Scramble},
		{Mode: external.Plain},
	} {
		codec, err := external.New(opts)
		if err != nil {
			return nil, err
		}
		name := opts.Mode.String()
		if opts.Mode == external.Keyed {
			name = opts.Cipher.String()
		}
		encoders = append(encoders, encoder(name, codec))
		decoders = append(decoders, decoder(name, codec))
	}
	return &measure.Set{Close: func() error { return nil }, Contests: []measure.Contest{
		{
			Name: "encode-1", About: "an external ID by Speck64/128, base64url included", Latency: true, Each: batch, Procs: 1, Entrants: encoders,
			Fixed: []measure.FixedRate{{Name: "60 ns", Rate: 1e9 / 60, Least: 1}},
		},
		{Name: "decode-1", About: "an ID from an external one by Speck64/128", Latency: true, Each: batch, Procs: 1, Entrants: decoders},
	}}, nil
}}

const sample idgen.ID = 211469771380744768

func encoder(name string, codec *external.Codec) measure.Entrant {
	var buf [external.Len]byte
	return measure.Entrant{Name: name, Elastic: true, Op: func(*measure.Worker) error {
		for i := range idgen.ID(batch) {
			if text := codec.AppendEncode(buf[:0], sample+i); len(text) != external.Len {
				return fmt.Errorf("%d is %q", sample+i, text)
			}
		}
		return nil
	}}
}

func decoder(name string, codec *external.Codec) measure.Entrant {
	var texts [batch][]byte
	for i := range texts {
		texts[i] = codec.AppendEncode(nil, sample+idgen.ID(i))
	}
	return measure.Entrant{Name: name, Elastic: true, Op: func(*measure.Worker) error {
		for i, text := range texts {
			if id, err := codec.DecodeBytes(text); id != sample+idgen.ID(i) || err != nil {
				return errors.Join(fmt.Errorf("%q is %d", text, id), err)
			}
		}
		return nil
	}}
}
