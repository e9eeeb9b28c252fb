// SPDX-License-Identifier: Apache-2.0

// Package layoutflag has the flags --epoch and --bits, which give the layout of
// IDs.
package layoutflag
