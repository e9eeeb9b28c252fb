// SPDX-License-Identifier: Apache-2.0

// Package token keeps who may do what with the ID service: admin tokens, and key
// tokens, with which a program makes the IDs of one key.
//
//	a, err := token.New(s, watch, token.Options{})
//	if err != nil {
//		return err
//	}
//	admin, err := a.MakeAdmin(ctx) // shown once; "" if there is one already
//	t, err := a.Key(ctx, admin, "orders")
//	identity, err := a.Check(ctx, t.Text)
//	fmt.Println(identity.Key) // orders
//
// # What is stored
//
// Only SHA-256 hashes of tokens are stored. An admin token has 256 random bits. A key
// token is the HMAC-SHA-384, keyed with the admin token that asked for it, of
// a random nonce and the key; the nonce is stored. So the same admin token gets the same key token
// again for as long as that is valid, as the deployed worker's clients expect, though
// nothing that is stored yields it.
//
// # Resets
//
// A reset is in force on all workers when it returns: see package revision.
package token
