// SPDX-License-Identifier: Apache-2.0

// Package program has what the commands of idbuilder share: the flags of the
// settings, the store that the settings name, and the log.
package program
