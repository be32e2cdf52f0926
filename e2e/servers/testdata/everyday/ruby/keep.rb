# Keeps notes in the folder that its argument names.
require 'wire'

place = ARGV.last
serve(
  'get' => [['note'], ->(a) { File.read(File.join(place, a['note'])) }],
  'put' => [%w[note text], ->(a) { File.write(File.join(place, a['note']), a['text'], mode: 'a') && 'kept' }]
)
