package data

import (
	"bytes"
	"encoding/binary"
)

// orientation is the Exif tag of that name: 1 to 8 say how the stored image must be turned or mirrored to be upright. (Source: CIPA
// DC-008, "Exchangeable image file format for digital still cameras", tag 0x0112.)
type orientation int

// upright is that of an image stored as it is seen, and of one that does not say.
const upright orientation = 1

// turned reports whether width and height change places.
func (o orientation) turned() bool { return o >= 5 }

// size is what w x h stored pixels become.
func (o orientation) size(w, h int) (int, int) {
	if o.turned() {
		return h, w
	}
	return w, h
}

// from is where the pixel that is seen at (x, y) is stored, in an image of w x h stored pixels.
func (o orientation) from(x, y, w, h int) (int, int) {
	if o.turned() {
		x, y = y, x
	}
	switch o {
	case 2, 3, 7, 8:
		x = w - 1 - x
	}
	switch o {
	case 3, 4, 6, 7:
		y = h - 1 - y
	}
	return x, y
}

// jpegOrientation looks for the Exif segment among those before the image. What is damaged says nothing, as with other programs.
func jpegOrientation(file []byte) orientation {
	const startOfScan, app1 = 0xda, 0xe1
	for b := file[2:]; len(b) >= 4 && b[0] == 0xff; {
		if b[1] == 0xff { // segments may have such bytes before them
			b = b[1:]
			continue
		}
		marker, size := b[1], int(binary.BigEndian.Uint16(b[2:]))
		if marker == startOfScan || size < 2 || 2+size > len(b) {
			break
		}
		if exif, ok := bytes.CutPrefix(b[4:2+size], []byte("Exif\x00\x00")); ok && marker == app1 {
			return exifOrientation(exif)
		}
		b = b[2+size:]
	}
	return upright
}

// pngOrientation looks for the eXIf chunk, whose contents are those of JPEG's segment.
func pngOrientation(file []byte) orientation {
	const around = 12 // bytes of a chunk around its contents: length and name before, checksum behind
	for b := file[8:]; len(b) >= around; {
		size := uint64(binary.BigEndian.Uint32(b))
		if size > uint64(len(b)-around) {
			break
		}
		if string(b[4:8]) == "eXIf" {
			return exifOrientation(b[8 : 8+size])
		}
		b = b[around+size:]
	}
	return upright
}

// exifOrientation looks for the tag in the first directory of a TIFF structure.
func exifOrientation(b []byte) orientation {
	const tag, short, long, entrySize = 0x0112, 3, 4, 12
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte("II*\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte("MM\x00*")):
		order = binary.BigEndian
	default:
		return upright
	}
	if len(b) < 8 {
		return upright
	}
	at := uint64(order.Uint32(b[4:]))
	if at+2 > uint64(len(b)) {
		return upright
	}
	entries := b[at+2:]
	for range order.Uint16(b[at:]) {
		if len(entries) < entrySize {
			break
		}
		if order.Uint16(entries) == tag {
			value := uint32(0)
			switch order.Uint16(entries[2:]) {
			case short:
				value = uint32(order.Uint16(entries[8:]))
			case long: // some programs write it so
				value = order.Uint32(entries[8:])
			}
			if value >= 1 && value <= 8 {
				return orientation(value)
			}
			break
		}
		entries = entries[entrySize:]
	}
	return upright
}
