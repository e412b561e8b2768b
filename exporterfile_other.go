//go:build !lens_noop && !unix

package lens

const openFlags = 0
