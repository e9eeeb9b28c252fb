// SPDX-License-Identifier: Apache-2.0

// Package program is what the commands of idbuilder share: the flags of the
// settings, the store that they name, and the log.
package program
