// Package fashion embeds a sample of Fashion-MNIST: the first 6,000 of its 60,000 training images and the first 1,000 of
// its 10,000 test images, so that a program can train on real images without a network or a data folder.
//
// Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017, arXiv:1708.07747) holds 28x28 grey images of ten kinds of clothing. Each
// pixel is one byte, 0 where there is nothing and 255 at the brightest. The files keep their original names and format
// (idx, gzipped), so whatever reads the whole set reads this one too; [Files] hands them out as a file system.
//
// The images are the work of Zalando SE under the MIT licence. Its notice is embedded beside them, so every binary that
// carries the images carries the notice as well. make.py cuts the sample from the whole set.
//
// The package adds 3 MB to a binary that imports it, and imports nothing but the standard library.
package fashion
