// SPDX-License-Identifier: Apache-2.0

// Package databases has the commands kazahana verify, backup, restore and log, which
// look after the folders of embedded databases, and kazahana move, which moves one to a
// cluster or back.
package databases
