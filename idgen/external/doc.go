// SPDX-License-Identifier: Apache-2.0

// Package external gives IDs the form that a program shows to its users: 11
// characters of base64url that do not show the order and the time of the IDs.
//
//	codec, err := external.New(external.Options{
//		Mode: external.Keyed,
//		Keys: map[int][]byte{0: masterKey}, // 16 bytes or more, from a file or a vault
//	})
//	orders := codec.For("order")       // a subkey for each type
//	text := orders.Encode(o.ID)        // "6PkiL_g23Gw", for a URL or JSON
//	id, err := orders.Decode(text)     // from a request, checked
//	o, err = store.Get(ctx, id)        // a database keeps the ID itself
//
// # Modes
//
// [Scramble] needs no key. It makes neighbouring IDs look unrelated, but a program
// with this package can decode them, read the time of each record and count them.
// [Keyed] uses a block cipher, [Speck64] or [XTEA], so that decoding needs the key.
// [Plain] hides nothing.
//
// # What a key does not do
//
// An external ID is not authentication. For each key one in eight texts of 11
// characters decodes to some ID, one in 550 where [Options.MaxAhead] is set and the
// epoch is a year ago; and an attacker may have seen an ID before. Decide by the
// identity of the caller, not by the ID that it sends. With the key an attacker can
// decode all external IDs, even earlier ones.
//
// # Keys
//
// Each type has a subkey of the master key ([Codec.For]), so that the text of an
// order's ID is not a valid text for a customer. Up to four master keys can be in
// use: the two spare bits of base64url give the version of a text's key. To change
// the key, add a new one under another version to every process, then make it
// [Options.Current]. Old texts can still be decoded. A record then has one text for
// each key; compare IDs, not texts. Remove a version when its texts may stop
// working.
//
// # One spelling
//
// Decode takes exactly what Encode writes: no padding, no other alphabet, no
// stray bits. Each error wraps [idgen.ErrInvalid] and the reason; see [Codec.Decode].
//
// A [Codec] does not change and is safe for concurrent use. Nothing here reads
// a database or the network.
package external
